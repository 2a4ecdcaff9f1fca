"""Every statement on `feed_state`, `poll_events` and `feed_holds`, and on what polling may change of `sources`."""
