"""How long things are kept: months of articles go when all in them is past its time, what is starred stays."""
