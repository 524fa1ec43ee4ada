"""Where are the handlers? `DLQ_APP` names the module and the attribute of the hub that holds them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from dlq_console.errors import ConfigurationError
from dlq_console.hub.core import HubCore


def load_hub(app: str) -> HubCore:
    """The hub that `app`, written as `module:attribute`, names. Modules of the working folder are found too.

    Raises:
        ConfigurationError: there is no such module or attribute, or it is no hub.
    """
    module_name, _, attribute = app.partition(":")
    if not module_name or not attribute:
        raise ConfigurationError(
            "DLQ_APP is missing: write module:attribute of the hub that holds your handlers, such as shop.hub:hub."
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    hub = getattr(_module(module_name), attribute, None)
    if not isinstance(hub, HubCore):
        found = "nothing" if hub is None else f"a {type(hub).__name__}"
        raise ConfigurationError(
            f"DLQ_APP is wrong: {attribute} of the module {module_name} is {found} and not a Hub."
        )
    return hub


def _module(name: str) -> object:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # What a module of the user's own lacks is told by the error itself.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ConfigurationError(f"DLQ_APP is wrong: there is no module {error.name}.") from None
