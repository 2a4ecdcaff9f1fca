"""SQL of `sources/`, one module per subject."""
