"""The metrics, all in one place. Served at /metrics; explained in docs/metrics.md."""

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, Info, generate_latest

from headwater import __version__

CONTENT_TYPE = CONTENT_TYPE_LATEST.removesuffix("; charset=utf-8")  # which the response adds itself

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
POLL_SECONDS = Histogram(
    "headwater_poll_seconds",
    "Time a poll took, network and parsing included.",
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
CLOCK_PROBLEM = Gauge("headwater_clock_problem", "1 while this machine's clock cannot be trusted.")
OWN_OUTAGE = Gauge("headwater_own_outage", "1 while our own network is down: too many hosts fail at once.")
NEW_ARTICLES = Counter("headwater_new_articles_total", "Articles seen for the first time.")

STAGE_LAG = Gauge("headwater_stage_lag_seconds", "How long the oldest due work of a stage has been waiting.", ["stage"])
STAGE_LAST_SUCCESS = Gauge(
    "headwater_stage_last_success_timestamp_seconds",
    "When a stage last looked for work and found the database.",
    ["stage"],
)
STAGE_RUNNING = Gauge("headwater_stage_running", "Pieces of work a stage has in hand.", ["stage"])
STAGE_FAILURES = Counter(
    "headwater_stage_failures_total", "Times a stage could not go on, by cause.", ["stage", "cause"]
)

FETCHES = Counter(
    "headwater_fetches_total",
    "Pages asked for, by outcome: fetched, unchanged, redirected, or the reason why not.",
    ["outcome"],
)
FETCH_SECONDS = Histogram(
    "headwater_fetch_seconds",
    "Time a request for a page or a robots.txt took, without the wait for its host's delay.",
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
FETCHED_BYTES = Counter("headwater_fetched_bytes_total", "Bytes of the pages that were kept to be read.")
ROBOTS = Counter("headwater_robots_total", "robots.txt asked for, by outcome: rules, none, unreachable.", ["outcome"])
INDEXED = Counter(
    "headwater_indexed_total", "Documents sent to the search index, by outcome: done, again, refused.", ["outcome"]
)
FORGOTTEN = Counter(
    "headwater_forgotten_total", "What went because its time was over: articles, events, polls, clicks.", ["kind"]
)

# What the last evaluation of the alerts saw, the same in every process: read from the database when it is asked for.
ALERTS_EVALUATED = Gauge(
    "headwater_alerts_evaluated_timestamp_seconds",
    "Time of the last evaluation of alert conditions; 0 if unknown.",
)
INCIDENTS_OPEN = Gauge("headwater_incidents_open", "Incidents that are not over, by condition.", ["condition"])
SOURCES = Gauge("headwater_sources", "Sources by state, in the words of the API.", ["state"])
SYSTEM_FEEDS = Gauge("headwater_system_feeds", "System feeds, off or not.")
SYSTEM_FEEDS_DISABLED = Gauge(
    "headwater_system_feeds_disabled", "System feeds that are off, on a paused host, or without a success for long."
)
SYSTEM_FEED_DISABLED_SINCE = Gauge(
    "headwater_system_feed_disabled_since_timestamp_seconds",
    "Since when a system feed has been off; the longest first, a thousand at most.",
    ["source_id", "source"],
)
CRITICAL_FEED_ERRORS = Gauge(
    "headwater_critical_feed_errors", "How often in a row a critical feed has failed.", ["source_id", "source"]
)
SYSTEM_FEED_FAILING_SINCE = Gauge(
    "headwater_system_feed_failing_since_timestamp_seconds",
    "Since when a system feed that is not off has failed, or its paused host; a thousand at most.",
    ["source_id", "source"],
)
CRITICAL_FEED_FAILING_SINCE = Gauge(
    "headwater_critical_feed_failing_since_timestamp_seconds",
    "Since when a critical feed has failed, or its paused host.",
    ["source_id", "source"],
)
CRITICAL_FEED_PAUSED = Gauge(
    "headwater_critical_feed_paused", "1 for a critical feed whose host is paused.", ["source_id", "source", "host"]
)
OWN_OUTAGES = Gauge("headwater_own_outages", "Processes that take it to be their own network that is down.")
STAGE_DUE_SINCE = Gauge(
    "headwater_stage_due_since_timestamp_seconds",
    "Since when the longest-waiting work of a stage has been due, wherever it runs; 0 when nothing is.",
    ["stage"],
)
STAGE_BUSY = Gauge("headwater_stage_busy", "1 while work of this stage is in progress.", ["stage"])
QUEUE_SIZE = Gauge("headwater_queue_size", "What waits in a queue.", ["queue"])
ALERT_MESSAGES = Counter(
    "headwater_alert_messages_total", "Messages about incidents, by channel and outcome.", ["channel", "outcome"]
)


def render_metrics() -> bytes:
    """All metrics in Prometheus' text format."""
    return generate_latest()
