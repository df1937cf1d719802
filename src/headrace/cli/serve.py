"""The command `headrace serve`: a node and its doors, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any, Final

import click

from headrace.cli import options
from headrace.cli.documented import field_docs
from headrace.cli.shown import print_json, print_pairs
from headrace.core.errors import Unavailable
from headrace.core.limits import Limits
from headrace.server.limits import ServerLimits

LIMIT_NAMES: Final = (*Limits.__struct_fields__, *ServerLimits.__struct_fields__)
EXIT_INTERRUPTED: Final = 130


def _limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for each limit."""
    for cls in (ServerLimits, Limits):
        for name, text in reversed(field_docs(cls).items()):
            is_whole = cls.__annotations__[name] == "int"
            command = click.option(
                f"--{name.replace('_', '-')}",
                type=click.IntRange(min=1) if is_whole else click.FloatRange(min=0.001),
                metavar="NUMBER",
                default=getattr(cls(), name),
                show_default=True,
                help=text,
            )(command)
    return command


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7420,
    show_default=True,
    help="The port for headrace:// clients; 0 lets the system choose.",
)
@click.option(
    "--rest-port",
    type=click.IntRange(0, 65535),
    default=None,
    help="The port for REST. [default: one above --port]",
)
@click.option(
    "--durability",
    type=click.Choice(["fsync", "os"]),
    default="fsync",
    show_default=True,
    help="What an acknowledged add survives: a power cut, the process's death.",
)
@click.option("--certificate", metavar="FILE", help="The TLS certificate and what leads up to it, in PEM.")
@click.option("--private-key", metavar="FILE", help="The certificate's key, in PEM.")
@click.option(
    "--allow-host",
    metavar="NAME",
    multiple=True,
    help="A name besides its own by which REST may be called; may be given several times.",
)
@_limits
@options.directory
@options.as_json
def serve(
    *,
    at: str,
    host: str,
    port: int,
    rest_port: int | None,
    durability: str,
    certificate: str | None,
    private_key: str | None,
    allow_host: tuple[str, ...],
    as_json: bool,
    **limits: Any,
) -> None:
    """Serve the queues of a directory to other processes and machines.

    Runs until SIGTERM (exit code 0) or Ctrl-C (130); what was acknowledged is safe by then, and safe as well when the
    process is killed. Beyond this machine it listens only with TLS and an access token: see `headrace access`. With
    --json it prints one line of JSON once it is ready.

    \b
    headrace serve --at data
    headrace serve --at data --host 0.0.0.0 --certificate node.pem --private-key node.key --allow-host queue.example.org
    """
    from headrace.server.serving import Serving, Settings

    settings = Settings(
        at=at,
        host=host,
        port=port,
        rest_port=rest_port,
        allow_hosts=allow_host,
        durability=durability,  # type: ignore[arg-type]
        certificate=certificate,
        private_key=private_key,
        limits=Limits(**{name: limits[name] for name in Limits.__struct_fields__}),
        server_limits=ServerLimits(**{name: limits[name] for name in ServerLimits.__struct_fields__}),
    )
    serving = Serving(settings)  # reads the log; ends at once when it is told to meanwhile
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        sign = runner.run(_run(serving, as_json=as_json))
    if sign is signal.SIGINT:
        raise SystemExit(EXIT_INTERRUPTED)


async def _run(serving: Any, *, as_json: bool) -> signal.Signals:
    """Serve until a signal; which one it was."""
    signs: list[signal.Signals] = []

    def stop(sign: signal.Signals) -> None:
        signs.append(sign)
        serving.ended.set()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)  # who asks again does not want to wait

    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop, sign)
    try:
        await serving.start()
        _say(serving, as_json=as_json)
        await serving.ended.wait()
    finally:
        await serving.close()
    if not signs:
        raise Unavailable(
            f"the disk under {serving.settings.at!r} failed, and the node stopped: what was acknowledged is safe; "
            "mend the disk, and serve again"
        )
    return signs[0]


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed: it serves more calls a second."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _say(serving: Any, *, as_json: bool) -> None:
    """Where it listens."""
    from headrace.runtime.address import socket_path

    settings = serving.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    s = "s" if settings.certificate else ""
    url = f"headrace{s}://{host}:{serving.port}"
    rest = f"http{s}://{host}:{serving.rest_port}" if serving.rest_port else None
    local = socket_path(settings.at)
    if as_json:
        print_json(
            {
                "at": os.path.abspath(settings.at),
                "url": url,
                "port": serving.port,
                "rest_url": rest,
                "rest_port": serving.rest_port or None,
                "socket": local,
                "pid": os.getpid(),
            }
        )
    else:
        click.secho(f"serving {settings.at} ({settings.durability})", bold=True)
        no_rest = "not served: pip install 'headrace[server]'"
        print_pairs([("  clients", url), ("  REST", rest or no_rest), ("  local", local)])
        click.echo("Ctrl-C stops it.")
