"""Where are the handlers? `DLQ_APP` names the module and the attribute of the hub that holds them."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dlq_console.errors import ConfigurationError
from dlq_console.hub.core import HubCore

_HOW = "write module:attribute of the hub that holds your handlers, such as shop.hub:hub"


def load_hub(app: str) -> HubCore:
    """The hub that `app`, written as `module:attribute`, names. Modules of the working folder are found too.

    Raises:
        ConfigurationError: there is no such module or attribute, or it is no hub.
    """
    if not app:
        raise ConfigurationError(f"DLQ_APP is missing: {_HOW}.")
    module_name, _, attribute = app.partition(":")
    if not module_name or not attribute:
        raise ConfigurationError(f"DLQ_APP is wrong: {app} does not name a module and an attribute; {_HOW}.")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = _module(module_name)
    hub = getattr(module, attribute, None)
    if isinstance(hub, HubCore):
        return hub
    if not hasattr(module, attribute):
        raise ConfigurationError(
            f"DLQ_APP is wrong: the module {module_name} has no attribute {attribute}; name the variable that holds its Hub()."
        )
    raise ConfigurationError(
        f"DLQ_APP is wrong: {attribute} of the module {module_name} is no Hub but of type {type(hub).__name__}; "
        "name the variable that holds its Hub()."
    )


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # What a module of the user's own lacks is told below.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ConfigurationError(_why_not_imported(name, error)) from error
        raise ConfigurationError(
            f"DLQ_APP is wrong: there is no module {error.name} in {Path.cwd()} or among what is installed; "
            "start the worker in the folder that holds it, or install it."
        ) from None
    except (Exception, SystemExit) as error:
        raise ConfigurationError(_why_not_imported(name, error)) from error


def _why_not_imported(name: str, error: BaseException) -> str:
    """The error of the user's own module and the line it comes from, which a SyntaxError tells itself."""
    place = ""
    trace = traceback.extract_tb(error.__traceback__)
    if trace and not isinstance(error, SyntaxError):
        place = f" ({Path(trace[-1].filename).name}, line {trace[-1].lineno})"
    return f"DLQ_APP: the module {name} cannot be imported: {type(error).__name__}: {error}{place}."
