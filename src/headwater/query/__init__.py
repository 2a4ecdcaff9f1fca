"""The query language: one grammar, a typed tree, and two evaluations of it that agree (SQL and matcher)."""
