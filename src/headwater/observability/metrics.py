"""All metrics. Served at /metrics; described in docs/metrics.md."""

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, Info, generate_latest

from headwater import __version__

CONTENT_TYPE = CONTENT_TYPE_LATEST.removesuffix("; charset=utf-8")  # added by the response

BUILD = Info("headwater_build", "The version that is running.")
BUILD.info({"version": __version__})

HTTP_REQUESTS = Counter(
    "headwater_http_requests_total",
    "Requests answered, by method, route and status. Methods that HTTP does not define are `other`, paths without a "
    "route are `none`.",
    ["method", "route", "status"],
)
HTTP_SECONDS = Histogram("headwater_http_request_seconds", "Time to answer a request.", ["method", "route"])
STREAMS = Gauge("headwater_api_streams", "Open streams of the API.")

POLLS = Counter(
    "headwater_polls_total", "Polls ended, by outcome: polled, not_modified, or the class of failure.", ["outcome"]
)
_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
POLL_SECONDS = Histogram("headwater_poll_seconds", "Time of a poll, network and parsing included.", buckets=_SECONDS)
CLOCK_PROBLEM = Gauge("headwater_clock_problem", "1 while this machine's clock cannot be trusted.")
OWN_OUTAGE = Gauge("headwater_own_outage", "1 while our own network is down: too many hosts fail at once.")
NEW_ARTICLES = Counter("headwater_new_articles_total", "Articles seen for the first time.")

STAGE_LAG = Gauge("headwater_stage_lag_seconds", "How long the oldest due work of a stage has been waiting.", ["stage"])
STAGE_LAST_SUCCESS = Gauge(
    "headwater_stage_last_success_timestamp_seconds",
    "Last successful claim of a stage, with work or without.",
    ["stage"],
)
STAGE_RUNNING = Gauge("headwater_stage_running", "Items that a stage is working on.", ["stage"])
STAGE_FAILURES = Counter("headwater_stage_failures_total", "Failures of a stage, by cause.", ["stage", "cause"])

FETCHES = Counter(
    "headwater_fetches_total", "Fetches, by outcome: fetched, unchanged, redirected, or the failure.", ["outcome"]
)
FETCH_SECONDS = Histogram(
    "headwater_fetch_seconds", "Time of a request for a page or robots.txt, without the host's delay.", buckets=_SECONDS
)
FETCHED_BYTES = Counter("headwater_fetched_bytes_total", "Bytes of the stored pages.")
ROBOTS = Counter("headwater_robots_total", "Requests for robots.txt: rules, none, unreachable.", ["outcome"])
INDEXED = Counter(
    "headwater_indexed_total", "Documents sent to the search index, by outcome: done, again, refused.", ["outcome"]
)
DELIVERED = Counter(
    "headwater_deliveries_total",
    "Deliveries of channels, by kind of destination and outcome: delivered, refused, or failed for a whole batch.",
    ["destination", "outcome"],
)
CLASSIFIED = Counter(
    "headwater_classified_total", "Articles classified on this machine, by outcome: labelled, failed.", ["outcome"]
)
PLACED = Counter("headwater_placed_total", "Articles compared with the stories of the last 72 hours.")
FORGOTTEN = Counter("headwater_forgotten_total", "Expired rows deleted: articles, events, polls, clicks.", ["kind"])

AI_REQUESTS = Counter(
    "headwater_ai_requests_total",
    "Calls to language models, by purpose and outcome: answered, unavailable, failed, or budget (not sent).",
    ["purpose", "outcome"],
)
AI_COST = Counter("headwater_ai_cost_dollars_total", "Cost of calls to language models, by purpose.", ["purpose"])
TAGGED = Counter(
    "headwater_tagged_total",
    "Articles tagged by a language model, by outcome: tagged, failed, given_up, postponed, skipped, lost.",
    ["outcome"],
)

# Of the last evaluation of alerts, the same in every process: read from the database for each request.
ALERTS_EVALUATED = Gauge(
    "headwater_alerts_evaluated_timestamp_seconds", "Time of the last evaluation of alert conditions; 0 if unknown."
)
INCIDENTS_OPEN = Gauge("headwater_incidents_open", "Open incidents, by condition.", ["condition"])
SOURCES = Gauge("headwater_sources", "Sources by state, as in the API.", ["state"])
SYSTEM_FEEDS = Gauge("headwater_system_feeds", "System feeds, disabled or not.")
SYSTEM_FEEDS_DISABLED = Gauge(
    "headwater_system_feeds_disabled", "System feeds that are disabled, on a paused host, or without a recent success."
)
SYSTEM_FEED_DISABLED_SINCE = Gauge(
    "headwater_system_feed_disabled_since_timestamp_seconds",
    "Since when a system feed has been disabled; the longest first, at most a thousand.",
    ["source_id", "source"],
)
CRITICAL_FEED_ERRORS = Gauge(
    "headwater_critical_feed_errors", "Consecutive failures of a critical feed.", ["source_id", "source"]
)
SYSTEM_FEED_FAILING_SINCE = Gauge(
    "headwater_system_feed_failing_since_timestamp_seconds",
    "Since when a system feed, or the paused host of an enabled one, has failed; at most a thousand.",
    ["source_id", "source"],
)
CRITICAL_FEED_FAILING_SINCE = Gauge(
    "headwater_critical_feed_failing_since_timestamp_seconds",
    "Since when a critical feed, or its paused host, has failed.",
    ["source_id", "source"],
)
CRITICAL_FEED_PAUSED = Gauge(
    "headwater_critical_feed_paused", "1 for a critical feed whose host is paused.", ["source_id", "source", "host"]
)
OWN_OUTAGES = Gauge("headwater_own_outages", "Processes that detect an outage of their own network.")
AI_MONTH_COST = Gauge("headwater_ai_month_cost_dollars", "Cost of this month's calls to language models.")
AI_BUDGET_REACHED = Gauge(
    "headwater_ai_budget_reached", "1 while the monthly ceiling refuses calls to language models."
)
STAGE_DUE_SINCE = Gauge(
    "headwater_stage_due_since_timestamp_seconds",
    "Since when the oldest due work of a stage has been due, in all processes; 0 if none is due.",
    ["stage"],
)
STAGE_BUSY = Gauge("headwater_stage_busy", "1 while work of this stage is in progress.", ["stage"])
QUEUE_SIZE = Gauge("headwater_queue_size", "Length of a queue.", ["queue"])
CHANNEL_WAITING = Gauge(
    "headwater_channel_waiting", "Deliveries of a channel that wait; counted up to a thousand.", ["channel"]
)
CHANNEL_WAITING_SINCE = Gauge(
    "headwater_channel_waiting_since_timestamp_seconds",
    "When the oldest waiting delivery of a channel was queued; 0 if none waits. Its lag is the time since then.",
    ["channel"],
)
CHANNEL_DEAD_LETTERS = Gauge(
    "headwater_channel_dead_letters", "Deliveries that its destination refused; counted up to a thousand.", ["channel"]
)
CHANNEL_DELIVERED = Gauge(
    "headwater_channel_delivered", "Deliveries of a channel in all, replays included.", ["channel"]
)
CHANNEL_FAILING_SINCE = Gauge(
    "headwater_channel_failing_since_timestamp_seconds",
    "Since when the destination of a channel that is not paused has failed.",
    ["channel"],
)
ALERT_MESSAGES = Counter(
    "headwater_alert_messages_total", "Messages about incidents, by channel and outcome.", ["channel", "outcome"]
)

render_metrics = generate_latest
