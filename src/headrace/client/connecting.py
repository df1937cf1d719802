"""`headrace.connect`: a node in another process, for threads."""

from __future__ import annotations

from headrace.client.handle import Headrace
from headrace.client.opening import handle_on
from headrace.runtime.host import open_link


def connect(url: str, *, token: str = "", ca: str | None = None, timeout: float = 30.0) -> Headrace:
    """Connect to a node: `headrace.connect("headrace://host:port")`.

    Several addresses of one node, separated by commas, are tried in turn. `headraces://` speaks TLS, with the system's
    authorities or those in the file `ca`. `timeout` is how long a call may take beyond its `wait`, reconnects included:
    every call that changes something can be repeated without harm, and is, until then.
    """
    return handle_on(open_link(url, token=token, ca=ca, timeout_seconds=timeout))
