"""Many system feeds at once: from a file, or the catalogue that ships with Headwater."""
