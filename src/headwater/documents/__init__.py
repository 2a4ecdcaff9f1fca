"""Documents of the search index: changes that wait for it, as deliveries of its channel.

A package below `channels/` and `publishing/`, because extraction, labels and retention write it.
"""
