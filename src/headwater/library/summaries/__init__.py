"""Summaries of the last day, by a language model or extractive."""
