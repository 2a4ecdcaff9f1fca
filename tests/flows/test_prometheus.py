"""The rules and the examples in deploy/, on real Prometheus and Alertmanager: checked, tried, fired against the zoo.

For speed, the copies that fire here are evaluated every second instead of every 30 s, are over at once instead of after
ten minutes (`keep_firing_for`), and are told at once instead of in groups; Headwater looks every second instead of
every minute. Expressions, thresholds and names are those of the files.
"""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.alerts.types import Condition, Thresholds
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from scripts import prometheus
from tests.alerts.receiver import Receiver, open_receiver
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, wait_for
from tests.ports import free_port

pytestmark = pytest.mark.soak

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/headwater.rules.yml"
CONFIG = ROOT / "deploy/prometheus/prometheus.yml"
ALERTMANAGER = ROOT / "deploy/alertmanager/alertmanager.yml"
PATIENCE_S = 240  # a machine may be slow and busy with other tests

needs_prometheus = pytest.mark.skipif(
    bool(prometheus.missing()), reason="Prometheus and Alertmanager are not here: scripts/prometheus.py fetches them"
)


# What the files say, held to what Headwater says


def test_the_rules_have_the_names_of_the_conditions() -> None:
    named = re.findall(r"- alert: (\w+)", RULES.read_text())

    assert set(named) == {*Condition, "HeadwaterAlertsStopped", "HeadwaterDown"}
    assert len(named) == len(set(named))


def test_the_rules_have_the_thresholds_of_the_settings() -> None:
    limits, rules = Thresholds(), RULES.read_text()
    stopped, window = limits.stage_stopped, limits.queue_window

    assert f">= {limits.disabled_least}\n" in rules
    assert f"* 100 > {limits.disabled_percent} *" in rules
    assert f"disabled_since_timestamp_seconds) > {limits.disabled_for.total_seconds():.0f}\n" in rules
    assert rules.count(f"failing_since_timestamp_seconds) > {limits.no_success.total_seconds():.0f}\n") == 2
    assert (
        f"(headwater_channel_failing_since_timestamp_seconds) > {limits.channel_failing.total_seconds():.0f}\n" in rules
    )
    assert f"(headwater_critical_feed_errors) > {limits.critical_errors}\n" in rules
    assert f") > {stopped.total_seconds():.0f}\n" in rules
    assert set(re.findall(r"(?:offset |\[)(\d+)m", rules)) == {f"{stopped / timedelta(minutes=1):.0f}"}
    assert f">= {limits.queue_least}\n" in rules
    assert max(int(hours) for hours in re.findall(r"offset (\d+)h", rules)) + 1 == window / timedelta(hours=1)


def test_every_rule_is_seen_to_fire_and_to_stay_silent() -> None:
    """Of each rule the tests for promtool expect an alert at some time, and none at another."""
    tests = RULES.with_suffix(".test.yml").read_text()
    fires = set(re.findall(r"alertname: (\w+)\n +exp_alerts:", tests))
    silent = set(re.findall(r"alertname: (\w+) \}", tests))

    assert fires == silent == {*Condition, "HeadwaterAlertsStopped", "HeadwaterDown"}


@needs_prometheus
@pytest.mark.parametrize(
    "command",
    [
        ("promtool", "check", "rules", str(RULES)),
        ("promtool", "check", "config", str(CONFIG)),
        ("promtool", "test", "rules", str(RULES.with_suffix(".test.yml"))),
        ("amtool", "check-config", str(ALERTMANAGER)),
    ],
    ids=["rules", "config", "tests-of-the-rules", "alertmanager"],
)
def test_the_tools_accept_the_files(command: tuple[str, ...]) -> None:
    program = prometheus.find(command[0])
    assert program

    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


# All of it together


@needs_prometheus
@pytest.mark.timeout(900)
def test_what_is_wrong_is_seen_in_alertmanager_and_at_the_webhook_until_it_is_well(
    open_folder: Path, conninfo: str
) -> None:
    with open_zoo() as zoo, open_receiver() as hook, open_receiver() as own_hook:
        headwater = a_headwater(open_folder, conninfo, own_hook)
        critical = a_critical_feed(headwater, conninfo, zoo)
        with headwater.start("up") as up, monitoring(open_folder, up.url, hook) as (value_of, alerts_of):
            wait_for(lambda: value_of("headwater_critical_feed_errors") == "0", up, PATIENCE_S)
            before = alerts_of()

            for _ in range(4):
                poll_in_vain(headwater, critical)
            dead = [followed(headwater, zoo, name) for name in ("gone", "tunnel-file")]  # the stage polls them: off
            wait_for(lambda: value_of("headwater_critical_feed_errors") == "4", up, PATIENCE_S)
            wait_for(lambda: value_of("headwater_system_feeds_disabled") == "2", up, PATIENCE_S)
            firing = wait_for(lambda: found if len(found := alerts_of()) == 2 else None, up, PATIENCE_S)
            told = wait_for(
                lambda: told_of(hook, "firing") if len(told_of(hook, "firing")) == 2 else None, up, PATIENCE_S
            )

            done(headwater.run("source", "edit", critical, "--url", zoo_url(zoo, "daily")))
            done(headwater.run("source", "remove", dead[0], "--yes"))
            wait_for(lambda: not alerts_of(), up, PATIENCE_S)
            over = wait_for(
                lambda: told_of(hook, "resolved") if len(told_of(hook, "resolved")) == 2 else None, up, PATIENCE_S
            )
            own = wait_for(lambda: own_hook.bodies if ends(own_hook) >= 2 else None, up, PATIENCE_S)

    assert before == []
    both = {Condition.CRITICAL_FEED_FAILING, Condition.SYSTEM_FEEDS_DISABLED}
    assert {alert["labels"]["alertname"] for alert in firing} == both
    assert {alert["labels"]["severity"] for alert in firing} == {"critical"}
    assert {alert["annotations"]["description"] for alert in firing} == {
        "Zoo's worst fails: too often in a row, for too long, or with its host, which is paused.",
        "2 system feeds are disabled or on a paused host: a widespread issue rather than dead feeds.",
    }
    assert told == over == both
    # Headwater itself tells the same, each once and its end once.
    assert (sum(body["began"] for body in own), ends(own_hook)) == (2, 2)
    assert {one["condition"] for body in own for one in body["incidents"]} == both


def told_of(hook: Receiver, status: str) -> set[str]:
    """The alerts of which the webhook was told that they began, or ended."""
    alerts = [alert for body in list(hook.bodies) for alert in body["alerts"]]
    return {alert["labels"]["alertname"] for alert in alerts if alert["status"] == status}


def ends(hook: Receiver) -> int:
    return sum(body["ended"] for body in list(hook.bodies))


def a_headwater(folder: Path, conninfo: str, own_hook: Receiver) -> Headwater:
    return Headwater(
        folder,
        DATABASE_URL=conninfo,
        HEADWATER_ALLOW_LOOPBACK="true",
        HEADWATER_RESOLVE=f"{DOMAIN}=127.0.0.1",
        HEADWATER_POLL_HOST_DELAY="0s",
        HEADWATER_ALERT_EVERY="1s",
        HEADWATER_ALERT_SETTLE="0s",
        HEADWATER_ALERT_DIGEST="0s",
        HEADWATER_ALERT_WEBHOOK_URL=own_hook.url,
    )


def zoo_url(zoo: Zoo, name: str) -> str:
    return next(zoo.url_of(exhibit) for exhibit in EXHIBITS if exhibit.name == name)


def followed(headwater: Headwater, zoo: Zoo, name: str, called: str = "Zoo's own") -> str:
    """A system feed, due at once. Returns its URL."""
    done(headwater.run("source", "add", zoo_url(zoo, name), "--name", called, "--later"))
    return zoo_url(zoo, name)


def a_critical_feed(headwater: Headwater, conninfo: str, zoo: Zoo) -> str:
    """A critical feed that fails whenever it is asked for."""
    url = followed(headwater, zoo, "teapot", "Zoo's worst")
    with psycopg.connect(conninfo) as conn:
        # Only the polls of this test count: the stage is not to ask before it is done.
        conn.execute("UPDATE feed_state SET next_poll_at = now() + interval '1 day'")
        conn.execute("UPDATE sources SET is_critical = true")
    return url


def poll_in_vain(headwater: Headwater, url: str) -> None:
    polled = headwater.run("source", "poll", url)
    assert polled.returncode == 1, polled.stdout + polled.stderr


def done(command: subprocess.CompletedProcess[str]) -> None:
    assert command.returncode == 0, command.stdout + command.stderr


@contextmanager
def monitoring(folder: Path, url: str, hook: Receiver) -> Iterator[tuple[Any, Any]]:
    """Prometheus and Alertmanager on loopback, by the examples. Yields what asks the one for values, the other for
    alerts."""
    ports = {"prometheus": free_port(), "alertmanager": free_port()}
    home = folder / "monitoring"
    home.mkdir()
    shutil.copy(RULES, home)
    rules = home / RULES.name
    rules.write_text(changed(rules.read_text(), r"\n +keep_firing_for: 10m", ""))
    (home / "prometheus.yml").write_text(prometheus_config(url, ports["alertmanager"]))
    (home / "alertmanager.yml").write_text(alertmanager_config(hook))
    listen = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    with (
        running(
            home,
            "alertmanager",
            f"--config.file={home}/alertmanager.yml",
            f"--storage.path={home}/alertmanager",
            f"--web.listen-address={listen['alertmanager']}",
            "--cluster.listen-address=",
        ) as alertmanager,
        running(
            home,
            "prometheus",
            f"--config.file={home}/prometheus.yml",
            f"--storage.tsdb.path={home}/prometheus",
            f"--web.listen-address={listen['prometheus']}",
        ),
    ):

        def value(metric: str) -> str | None:
            found = get_json(f"http://{listen['prometheus']}/api/v1/query?query=max({metric})")
            return found["data"]["result"][0]["value"][1] if found and found["data"]["result"] else None

        def alerts() -> list[dict[str, Any]]:
            return get_json(f"http://{listen['alertmanager']}/api/v2/alerts?active=true") or []

        status = f"http://{listen['alertmanager']}/api/v2/status"
        wait_for(lambda: get_json(status) or alertmanager.poll() is not None, seconds=PATIENCE_S)
        assert alertmanager.poll() is None, "Alertmanager did not start"
        yield value, alerts


def prometheus_config(url: str, alertmanager_port: int) -> str:
    text = changed(CONFIG.read_text(), r"127\.0\.0\.1:8000", url.removeprefix("http://"))
    text = changed(text, r"127\.0\.0\.1:9093", f"127.0.0.1:{alertmanager_port}")
    return changed(text, r"_interval: 30s", "_interval: 1s")


def alertmanager_config(hook: Receiver) -> str:
    text = changed(ALERTMANAGER.read_text(), r"http://127\.0\.0\.1:9095/hook", hook.url)
    return changed(changed(text, r"group_wait: \w+", "group_wait: 0s"), r"group_interval: \w+", "group_interval: 1s")


def changed(text: str, what: str, to: str) -> str:
    """The text with something else in it; it must have been there."""
    replaced, times = re.subn(what, lambda _: to, text)
    assert times, f"{what} is not in the file any more"
    return replaced


@contextmanager
def running(home: Path, name: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server, until the end; what it said comes with a failure."""
    log = home / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*prometheus.command(name), *options], cwd=home, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield process
        except BaseException as error:
            error.add_note(f"{name} said:\n{log.read_text()[-4000:]}")
            raise
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def get_json(url: str) -> Any:
    """What it answers; None while it does not."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
            return json.load(response)
    except (urllib.error.URLError, OSError, ValueError):
        return None
