"""Labels of articles: what each is, who says so, how sure it is, and which label is shown."""
