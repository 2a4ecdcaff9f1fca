"""Looking into the frontier: one URL, lists of them, and how many stand where. Nothing here changes it."""
