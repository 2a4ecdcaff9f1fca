"""Custom feeds: what readers suggest for everybody, and how it is decided on."""
