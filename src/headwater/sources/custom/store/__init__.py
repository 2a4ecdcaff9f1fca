"""SQL of `sources/custom/`, one module per subject."""
