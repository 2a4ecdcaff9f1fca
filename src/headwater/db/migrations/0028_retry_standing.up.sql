-- Who disabled a feed, and until when its site asked us to wait: a reader's retry respects both.
ALTER TABLE feed_state
    ADD COLUMN off_by_operator boolean NOT NULL DEFAULT false,
    ADD COLUMN asked_until timestamptz;

-- Reasons in an operator's own words.
UPDATE feed_state
SET off_by_operator = true
WHERE off_reason IS NOT NULL
    AND off_reason <> ALL (ARRAY[
        'rate_limited', 'unauthorized', 'forbidden', 'not_found', 'gone', 'bad_request', 'upstream_failure', 'network',
        'dns', 'parse_error', 'not_a_feed', 'too_large', 'redirect_loop', 'bot_challenge', 'ssrf_blocked', 'unexpected'
    ]);
