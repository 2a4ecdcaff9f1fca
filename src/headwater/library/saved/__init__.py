"""Articles and pages that a reader saves for later."""
