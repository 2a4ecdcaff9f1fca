"""The spider: a fetched page in; the articles and further lists that it links to out, into the frontier."""
