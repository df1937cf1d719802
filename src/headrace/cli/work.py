"""`headrace work`: worker processes for the tasks of an app."""

from __future__ import annotations

import logging
import os
import sys

import click

from headrace.cli import options
from headrace.cli.configuration import configured
from headrace.core.errors import EXIT_FAILURE


@click.command()
@click.argument("app", metavar="MODULE:APP")
@click.option(
    "--processes", type=click.IntRange(1, 1000), metavar="N", help="Worker processes; as many as there are cores."
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="T",
    help="Plain tasks at a time in each process.",
)
@click.option(
    "--tasks",
    "async_tasks",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    metavar="K",
    help="Tasks that are `async def` at a time in each process.",
)
@click.option("--queues", metavar="A,B", help="Work for these queues only; otherwise for all of the app.")
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long what runs may take to finish when the worker is told to stop; then it is handed back.",
)
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="What to say on standard error.",
)
@options.token_file
@configured
def work(
    *,
    app: str,
    processes: int | None,
    threads: int,
    async_tasks: int,
    queues: str | None,
    grace: float,
    log_level: str,
    token_file: str | None,
) -> None:
    """Run the tasks of an app, from its queues.

    MODULE:APP is where the headrace.App is: `shop.tasks:app`. SIGTERM or Ctrl-C stops it gracefully: nothing more is
    taken, what runs may finish within the grace, and the rest is handed back, which counts as no failure. A second one
    does not wait. The access token is the app's own, in HEADRACE_TOKEN, or in the file --token-file.

    \b
    headrace work shop.tasks:app --processes 4
    headrace work shop.tasks:app --queues thumbs,mails --threads 8
    """
    from headrace.work.loading import load_app
    from headrace.work.process import Plan, configure_log
    from headrace.work.supervisor import Supervisor, prepare

    sys.path.insert(0, os.getcwd())
    configure_log(log_level.upper())
    token = options.access_token(token_file)
    with load_app(app, token=token) as loaded:
        names = [name.strip() for name in (queues or "").split(",") if name.strip()]
        plain, asynchronous = prepare(loaded, names)
        plan = Plan(app, plain, asynchronous, threads, async_tasks, token, log_level.upper())
        count = processes or os.cpu_count() or 1
        logging.getLogger("headrace.work").info(
            "working for %s in %d processes", ", ".join((*plain, *asynchronous)), count
        )
        if not Supervisor(loaded, plan, processes=count, grace=grace).run():
            sys.exit(EXIT_FAILURE)
