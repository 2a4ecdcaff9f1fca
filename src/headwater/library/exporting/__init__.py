"""All that is a person's, for them to take along."""
