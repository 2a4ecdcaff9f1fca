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
FORGOTTEN = Counter("headwater_forgotten_total", "Expired rows deleted: articles, events, polls, clicks.", ["kind"])

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
STAGE_DUE_SINCE = Gauge(
    "headwater_stage_due_since_timestamp_seconds",
    "Since when the oldest due work of a stage has been due, in all processes; 0 if none is due.",
    ["stage"],
)
STAGE_BUSY = Gauge("headwater_stage_busy", "1 while work of this stage is in progress.", ["stage"])
QUEUE_SIZE = Gauge("headwater_queue_size", "Length of a queue.", ["queue"])
ALERT_MESSAGES = Counter(
    "headwater_alert_messages_total", "Messages about incidents, by channel and outcome.", ["channel", "outcome"]
)

render_metrics = generate_latest
