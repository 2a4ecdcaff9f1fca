"""Article text → labels: on this machine by rules and models, and by a language model within the budget."""
