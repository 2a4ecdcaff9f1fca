"""SQL of `accounts/`, one module per subject."""
