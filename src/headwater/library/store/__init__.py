"""SQL of `library/`, one module per subject."""
