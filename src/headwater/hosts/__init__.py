"""Hosts: every request to a site takes a turn at its host, whatever it is for. One row, one lease, one clock.

    claim    ready hosts, for their feeds or for their pages
    borrow   one host, for a single request: redirects, discovery, what a person tries
    renew    hold it for longer
    release  give it back: when it may be asked again, and what was learned of it

Only this folder writes the table `hosts`.
"""
