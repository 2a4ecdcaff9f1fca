"""Headwater turns thousands of feeds and sites into one clean stream of articles."""

__version__ = "0.1.0"
