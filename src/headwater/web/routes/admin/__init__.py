"""Admin pages: one module per subject; each route names its role."""
