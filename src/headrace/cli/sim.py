"""`headrace sim`: the simulator at the command line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from headrace.cli.progress import Bar
from headrace.core.errors import EXIT_FAILURE, Invalid


@click.group()
def sim() -> None:
    """Try to break the node and its store: seeded crashes, faults and races in virtual time.

    The same node and store that run live are driven over a disk that tears and forgets, a clock that jumps and clients
    that ask twice. Checkers that know only what was asked, answered and logged look for anything lost, unexpected or
    unexplained. One seed gives one run, always.

    \b
    Example:
        headrace sim run --scenario crashes --seeds 0:200
        headrace sim replay --scenario crashes --seed 17
    """


@sim.command()
@click.option("--scenario", default="all", show_default=True, help="A scenario's name, or all.")
@click.option("--seeds", default="0:50", show_default=True, metavar="A:B", help="The seeds from A up to but not B.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="How many processes share the work.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run(scenario: str, seeds: str, jobs: int, as_json: bool) -> None:
    """Run each scenario named with each seed, and say what was found.

    Exit code 1 when anything is broken; `headrace sim replay` then tells how.
    """
    from headrace.sim.campaign import run_all, scenarios_of

    names = scenarios_of(scenario)
    wanted = _seeds(seeds)
    began = time.perf_counter()
    with _progress("runs", len(names) * len(wanted)) as step:
        outcome = run_all(names, wanted, jobs=jobs, on_done=step)
    if as_json:
        click.echo(json.dumps(outcome.as_json()))
    else:
        took_s = time.perf_counter() - began
        click.echo(
            f"{outcome.runs:,} runs, {outcome.requests:,} requests, {outcome.boots:,} boots in {took_s:.1f} s: "
            + (f"{len(outcome.failed)} failed" if outcome.failed else "nothing lost, unexpected or unexplained")
        )
        click.echo("faults: " + ", ".join(f"{name} {count:,}" for name, count in sorted(outcome.faults.items())))
        for name, seed, what in outcome.failed[:20]:
            click.echo(f"  headrace sim replay --scenario {name} --seed {seed}   # {what:.120}")
    if outcome.failed:
        sys.exit(EXIT_FAILURE)


@sim.command()
@click.option("--scenario", required=True, help="The scenario's name.")
@click.option("--seed", required=True, type=int, help="The seed.")
@click.option("--full", is_flag=True, help="Tell the whole run, failed or not, without shrinking it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(scenario: str, seed: int, full: bool, as_json: bool) -> None:
    """Tell the story of a failing seed, shrunk to the steps that matter.

    Exit code 1 when it fails, 0 when nothing is broken.
    """
    from headrace.sim.campaign import scenarios_of
    from headrace.sim.scenarios import carry_out, plan_of
    from headrace.sim.shrinking import tell_failure

    if scenario == "all":
        raise Invalid("a replay is of one scenario: name it")
    (name,) = scenarios_of(scenario)
    plan = plan_of(name, seed)
    if full:
        story: list[str] = []
        result = carry_out(plan, story=story)
        click.echo("\n".join(story))
        sys.exit(0 if result.verdict.is_good else EXIT_FAILURE)
    with Bar() as bar:
        failure = tell_failure(plan, on_run=lambda steps: bar.tell(f"shrinking: {steps} of {len(plan.steps)} steps"))
    if failure is None:
        click.echo(json.dumps(None) if as_json else f"nothing is broken in seed {seed} of {name}")
        return
    if as_json:
        told = {
            "scenario": name,
            "seed": seed,
            "invariant": failure.invariant,
            "text": failure.text,
            "steps": len(failure.plan.steps),
            "steps_before": len(plan.steps),
            "story": failure.story,
        }
        click.echo(json.dumps(told))
    else:
        click.echo(f"{failure.invariant}: {failure.text}")
        click.echo(f"{len(failure.plan.steps)} of {len(plan.steps)} steps matter ({failure.runs} runs to find them):\n")
        click.echo("\n".join(failure.story))
    sys.exit(EXIT_FAILURE)


@sim.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def safeguards(as_json: bool) -> None:
    """Take each safeguard away in turn, and see that its absence is found, on the invariant it guards.

    Exit code 1 when one is not missed.
    """
    from headrace.sim.safeguards import SAFEGUARDS, caught_at

    found = []
    with _progress("safeguards", len(SAFEGUARDS)) as step:
        for safeguard in SAFEGUARDS:
            found.append(caught_at(safeguard))
            step(1)
    if as_json:
        rows = [
            {"safeguard": safeguard.name, "invariant": safeguard.invariant, "caught_at_seed": seed}
            for safeguard, seed in zip(SAFEGUARDS, found, strict=True)
        ]
        click.echo(json.dumps(rows))
    else:
        width = max(len(safeguard.name) for safeguard in SAFEGUARDS)
        for safeguard, seed in zip(SAFEGUARDS, found, strict=True):
            caught = "not caught" if seed is None else f"caught at seed {seed} of {safeguard.scenario}"
            click.echo(f"{safeguard.name:<{width}}  {safeguard.invariant:<22}  {caught}")
    if None in found:
        sys.exit(EXIT_FAILURE)


def _seeds(text: str) -> range:
    first, colon, after = text.partition(":")
    try:
        seeds = range(int(first), int(after if colon else first) + (not colon))
    except ValueError:
        raise click.UsageError(f"--seeds {text!r} is not A:B, such as 0:100") from None
    if not seeds or seeds[0] < 0:
        raise click.UsageError(f"--seeds {text!r} names no seed: A:B is from A up to but not B, such as 0:100")
    return seeds


@contextmanager
def _progress(unit: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, when somebody watches: called with how much more is done."""
    began = time.perf_counter()
    done = 0
    with Bar() as bar:

        def step(count: int) -> None:
            nonlocal done
            done += count
            spent_s = time.perf_counter() - began
            bar.show("sim", done=done, total=total, unit=unit, seconds_left=spent_s / done * (total - done))

        yield step
