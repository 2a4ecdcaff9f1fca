"""From a fetched page to the record of its article."""
