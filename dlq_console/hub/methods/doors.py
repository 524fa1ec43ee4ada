"""What may a person decide about accounts, providers, breakers and bulkheads?"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Literal

from dlq_console.errors import PayloadRefused, StoreUnavailable
from dlq_console.hub import doors, services
from dlq_console.hub.methods.base import HubBase
from dlq_console.resilience import Bulkhead, BulkheadConfig, CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.breaker.record import Position


class DoorMethods(HubBase):
    """What lets events start and calls go through, or holds them."""

    def pause_account(
        self, name: str, *, actor: str, note: str | None = None, until: datetime | None = None
    ) -> None:
        """Let no further event of an account start, until it is resumed or until a moment; what runs runs to its end.

        Raises:
            PayloadRefused: a name, note or moment is no such thing.
        """
        doors.pause_account(self.store, name, actor=actor, note=note, until=until)
        self._acted_upon(name)

    def resume_account(self, name: str, *, actor: str, note: str | None = None) -> None:
        """Let events of an account start again that is paused, or that its provider had closed, in whole or for some kinds.

        Raises:
            ActionNotAllowed: it is neither.
            PayloadRefused: a name or note is no such thing.
        """
        doors.resume_account(self.store, name, actor=actor, note=note)
        self._acted_upon(name)

    def open_provider(self, name: str, *, actor: str, note: str | None = None) -> None:
        """Let events go to a provider again that had closed itself for all accounts.

        Raises:
            ActionNotAllowed: it is not closed.
            PayloadRefused: a name or note is no such thing.
        """
        doors.open_provider(self.store, name, actor=actor, note=note)
        self._acted_upon(None)

    def breaker(self, name: str, config: CircuitBreakerConfig | None = None) -> CircuitBreaker:
        """The circuit breaker of a service, shared by all programs on this state; the same object each time.

        Args:
            name: of the service.
            config: None for what DLQ_SERVICES says, else the default.

        Raises:
            ConfigurationError: the name is not fit, or it exists with another configuration.
        """
        return self._breakers.get(name, config)

    def bulkhead(self, name: str, config: BulkheadConfig | None = None) -> Bulkhead:
        """The bulkhead of a service; as `breaker`."""
        return self._bulkheads.get(name, config)

    def force_breaker(
        self,
        name: str,
        position: Literal["open", "closed"],
        *,
        actor: str,
        note: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """Hold a breaker open or closed, for some seconds or until it is reset.

        Args:
            name: as the list shows it: an account, `<account>/<kind>` where the kind has a breaker of its own ("/" and
                "%" in the account are escaped), or a service that guards protect; `service:<name>` is always a service,
                `account:<name>` never.
            position: "open" lets nothing start, "closed" everything, whatever the calls say.
            actor: who decides it.
            note: why.
            seconds: for how long; None until somebody resets it.

        Raises:
            PayloadRefused: a name, note or time is no such thing.
            StoreUnavailable: the state that guards share is away.
        """
        forced = {"open": Position.FORCED_OPEN, "closed": Position.FORCED_CLOSED}.get(position)
        if forced is None:
            raise PayloadRefused(f'position: write "open" or "closed", not {position!r:.80}.')
        service = services.service_of(self.store, self.state, name)
        if service is None:
            doors.force_circuit(self.store, name, forced, actor=actor, note=note, seconds=seconds)
            self._acted_upon(doors.circuit_scope(self.store, name).account)
        else:
            services.force(
                self.store,
                self.state,
                service,
                forced,
                actor=actor,
                note=note,
                seconds=seconds,
                settings=self.services.breakers,
            )

    def reset_breaker(self, name: str, *, actor: str, note: str | None = None) -> None:
        """Close a breaker, and end what a person had decided about it; `name` as for `force_breaker`.

        Raises:
            EventNotFound: there is no such breaker.
            PayloadRefused: a name or note is no such thing.
            StoreUnavailable: the state that guards share is away.
        """
        service = services.service_of(self.store, self.state, name)
        if service is None:
            doors.reset_circuit(self.store, name, actor=actor, note=note)
            self._acted_upon(doors.circuit_scope(self.store, name).account)
        else:
            services.reset(
                self.store, self.state, service, actor=actor, note=note, settings=self.services.breakers
            )

    def _acted_upon(self, account: str | None) -> None:
        """Let everybody see at once what an act upon a door has changed; None where it may concern every account."""
        if self._judge_again is None:
            return
        # The act is done, and the next look, in two seconds, sees it too.
        with suppress(StoreUnavailable):
            self._judge_again(self.store, account)
