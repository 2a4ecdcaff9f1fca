"""Hosts: every request to a site takes a turn at its host, whatever it is for. One row, one lease, one clock.

    claim    ready hosts, for their feeds or for their pages
    borrow   one host, for a single request: redirects, discovery, tests by a user
    renew    extend the lease
    release  end the lease: when the next request may be sent, and what was learned about the host

Only this folder writes the table `hosts`.
"""
