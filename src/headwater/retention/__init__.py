"""How long rows are kept: expired months are dropped, starred articles stay."""
