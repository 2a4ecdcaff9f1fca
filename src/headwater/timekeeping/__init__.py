"""Whether this machine's clock can be trusted: compared with the database's clock and with the last run."""
