"""Finding an app by `module:app`, as the commands name it."""

from __future__ import annotations

import importlib

from headrace.core.errors import Invalid
from headrace.core.names import nearest
from headrace.work.app import App


def load_app(reference: str, *, token: str = "") -> App:
    """The app that `module:app` names; `token` is its access token, unless it has one of its own."""
    module_name, colon, name = reference.partition(":")
    if not colon or not module_name or not name:
        raise Invalid(f"{reference!r} does not name an app: say module:app, such as shop.tasks:app")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise Invalid(
            f"there is no module {error.name!r} to be found from here: run this where `import {module_name}` works, or "
            "set PYTHONPATH"
        ) from None
    app = getattr(module, name, None)
    if isinstance(app, App):
        app.token = app.token or token
        return app
    apps = [other for other, value in vars(module).items() if isinstance(value, App)]
    hint = nearest(name, apps) or f" Its apps: {', '.join(apps) or 'none'}"
    raise Invalid(f"module {module_name!r} has no app {name!r}.{hint}")
