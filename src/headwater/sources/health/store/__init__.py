"""SQL of `sources/health/`, one module per subject."""
