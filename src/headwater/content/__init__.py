"""The text of articles, stored once however many URLs carry it, and searchable."""
