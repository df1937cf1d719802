"""A program to be killed: it serves a directory until it is, and prints its two ports once both doors are open."""

import asyncio
import json
import sys

import uvloop

from headrace.server.limits import ServerLimits
from headrace.server.serving import Serving, Settings


async def serve(*, server_limits: dict[str, float], **settings: object) -> None:
    serving = Serving(Settings(server_limits=ServerLimits(**server_limits), **settings))
    await serving.start()
    print(serving.port, serving.rest_port)
    await asyncio.Event().wait()


uvloop.run(serve(**json.loads(sys.argv[1])))
