"""Icons of sources and lead images of articles: fetched, checked, resized and stored, never linked to."""
