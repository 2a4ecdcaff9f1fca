"""A month of polling in a minute: a simulated world, played through the decisions that Headwater really takes.

`making` makes a `world`, and `play` polls it. `adaptive` decides as the worker does; `hourly` is what it is measured
against. Both live through the same world, so that each article has two delays, which `compare` lays side by side.
"""
