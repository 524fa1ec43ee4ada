"""How does a program tell a hub what runs, verifies, refreshes and prechecks the events of a kind?"""

from __future__ import annotations

from collections.abc import Callable

from dlq_console.hub.handlers import AnyHandler
from dlq_console.hub.methods.base import HubBase
from dlq_console.hub.policy import DEFAULT_POLICY, Policy


class HandlerMethods(HubBase):
    """Decorators by which functions of a program become those of a kind."""

    def handler(self, kind: str, *, policy: Policy = DEFAULT_POLICY) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)`, sync or async, the handler of `kind`.

        Raises:
            ConfigurationError: the kind has a handler already, or the function takes other arguments.
        """
        return self.registry.register(kind, policy)

    def verifier(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)` the verifier of `kind`.

        It is asked before anything is run again of which nobody knows whether the outside system has it. It returns
        "applied" (or the result as a dict), "not_applied" or "unknown".

        Raises:
            ConfigurationError: the kind has a verifier already, or the function takes other arguments.
        """
        return self.registry.register_verifier(kind)

    def refresh(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)` the refresh of `kind`.

        After a reprocess it is asked, before the first run, for the payload that is true by then, and returns it as a
        dict. What it raises counts as raised by the handler, before anything was sent.

        Raises:
            ConfigurationError: the kind has a refresh already, or the function takes other arguments.
        """
        return self.registry.register_refresh(kind)

    def precheck(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)` the precheck of `kind`.

        A worker calls it when somebody asks whether a dead event would pass now. It changes nothing, and returns "likely"
        (what stood in the way is corrected), "unchanged", "gone" (the record is no more) or "unknown".

        Raises:
            ConfigurationError: the kind has a precheck already, or the function takes other arguments.
        """
        return self.registry.register_precheck(kind)
