"""Calls to language models: one client for all purposes, and the monthly budget."""
