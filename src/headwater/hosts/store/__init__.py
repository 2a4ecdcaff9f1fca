"""Every statement that writes `hosts`, `host_robots` and `own_outages`.

Transactions write URLs, then feeds, then hosts, and lock hosts in the order of their keys, so that two that write the
same rows never deadlock. Claiming or releasing one host is one statement on one row.
"""
