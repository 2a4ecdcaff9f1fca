"""SQL of `articles/`, one module per subject."""
