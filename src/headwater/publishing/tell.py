"""What is said of a batch after it was written down."""

from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.publishing.types import IndexReport

log = get_logger()


def tell(report: IndexReport) -> None:
    """One line a batch; single documents are told of only when they are given up."""
    for outcome, count in (("done", report.done), ("again", report.again), ("refused", report.buried)):
        metrics.INDEXED.labels(outcome=outcome).inc(count)
    took_ms = round(report.took.total_seconds() * 1000)
    log.debug("documents indexed", done=report.done, again=report.again, buried=report.buried, took_ms=took_ms)
