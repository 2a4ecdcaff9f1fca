"""Mail about accounts: queued by requests, written and sent in the background."""
