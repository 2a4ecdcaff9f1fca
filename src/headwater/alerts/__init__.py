"""Alerts for operators: conditions that hold, as incidents with a beginning and an end."""
