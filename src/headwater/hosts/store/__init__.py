"""Every statement that writes `hosts`, `host_robots` and `own_outages`.

Everybody writes URLs and feeds before hosts, and hosts in the order of their keys, once per transaction: two who write
the same rows never wait for each other in a circle. Taking or giving back one host is one statement on one row.
"""
