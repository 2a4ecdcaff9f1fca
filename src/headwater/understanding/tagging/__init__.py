"""Tagging by a language model, within the monthly budget: topics, sentiment, categories and how sure the model is."""
