"""SQL of `alerts/`, one module per subject."""
