"""A month of polling in a minute: simulated feeds and hosts, polled by the decisions that Headwater really takes.

`making` makes a `world`, and `play` polls it by one of the `strategies`. All poll the same world, so that each article
has two delays, which `compare` compares.
"""
