"""`headwater simulate`: a month of polling simulated in a minute, beside hourly polling of the same month."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.options import AsJson
from headwater.cli.output import print_json, print_table, print_text, progress
from headwater.cli.terminal import load_quietly
from headwater.runtime import polling_options
from headwater_lab.simulation import report
from headwater_lab.simulation.compare import MonthComparison, compare
from headwater_lab.simulation.making import make_world
from headwater_lab.simulation.play import play
from headwater_lab.simulation.strategies import Adaptive, Hourly
from headwater_lab.simulation.world import World, mix_named

Feeds = Annotated[int, typer.Option(help="How many feeds.", min=100, max=1_000_000)]
Days = Annotated[int, typer.Option(help="How many days.", min=2, max=400)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same simulation.")]
Kind = Annotated[str, typer.Option("--world", metavar="mixed|news|blogs", help="What kind of feeds there are.")]


def simulate(
    feeds: Feeds = 10_000, days: Days = 30, seed: Seed = 1, kind: Kind = "mixed", as_json: AsJson = False
) -> None:
    """Simulate a month of polling by your settings, and compare it with polling every feed once an hour.

    No request is made and nothing is stored: feeds, hosts and their outages are simulated.
    With --json, durations are in seconds.

    Example: headwater simulate --feeds 1000 --days 10
    """
    options = polling_options(load_quietly())
    world = make_world(feeds=feeds, days=days, seed=seed, mix=mix_named(kind))
    with progress() as bar:
        task = bar.add_task("Days simulated", total=2 * world.days)
        adaptive = play(world, Adaptive(world, options), options, lambda: bar.advance(task))
        hourly = play(world, Hourly(world), options, lambda: bar.advance(task))
    compared = compare(world, adaptive, hourly)
    if as_json:
        facts = {"world": kind, "seed": seed, "feeds": len(world.feeds), "hosts": len(world.hosts), "days": days}
        print_json(facts | asdict(compared, dict_factory=_in_seconds))
    else:
        _show(world, compared)


def _in_seconds(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    return {name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in pairs}


def _show(world: World, compared: MonthComparison) -> None:
    print_text(
        f"{world.days} days of {len(world.feeds):,} feeds on {len(world.hosts):,} hosts, world {world.mix.name!r}, "
        f"seed {world.seed}: Headwater beside a poll of every feed once an hour.\n"
    )
    print_table(["", "Headwater", "hourly"], report.measures(compared))
    print_text("\nBy how often a feed publishes:\n")
    columns = ["at least", "feeds", "articles", "requests", "hourly", "median delay", "hourly"]
    print_table(columns, report.by_speed(compared))
    print_text("\nDelay from publication to article, share of articles:\n")
    print_table(["up to", "Headwater", "hourly"], report.delays(compared))
    print_text("\nRequests per day:\n")
    print_text("\n".join(report.requests_per_day(compared)))
    print_text("\nResults:\n")
    print_text("\n".join(f"- {finding}" for finding in report.findings(compared)))
