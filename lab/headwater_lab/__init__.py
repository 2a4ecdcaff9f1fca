"""Synthetic worlds: a small web on loopback (`zoo/`) and a simulation of polling (`simulation/`)."""
