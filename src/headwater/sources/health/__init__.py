"""Health of sources: counts, rankings and descriptions, for operators."""
