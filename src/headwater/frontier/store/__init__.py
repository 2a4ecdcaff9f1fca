"""Every statement that writes `frontier_url`, `frontier_alias` and `frontier_tally`.

All transactions write URLs before hosts, and both in the order of their keys, so that they cannot deadlock. So call
submit, answer or settle once per transaction.
"""
