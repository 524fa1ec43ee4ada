"""Is the payload still true after a reprocess? `@hub.refresh` rebuilds it before it is sent again.

It is asked once after each reprocess, before the first run. Not while it is in doubt whether the provider has the event:
the same call may be in there already, and must stay the same call under the same effect key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlq_console.errors import LeaseLost
from dlq_console.hub.endings import Kind, ending_of, timed_out
from dlq_console.hub.handlers import Handler, Run, TimeLimitReached
from dlq_console.store import keys, renewals
from dlq_console.store.canonical import canonical_json, decode_payload, payload_hash, read_payload
from dlq_console.store.events import Event
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending


def refreshed(
    store: Store, handler: Handler, event: Event, run: Run, kind: Kind
) -> tuple[Event, Run] | Ending:
    """The event and the run with the payload that is to be sent now, or how the run ends because none could be made.

    Raises:
        LeaseLost: another worker was given the event meanwhile.
    """
    in_doubt = event.doubts > 0 and kind.policy.writes
    if handler.refresher is None or not event.cycle or in_doubt or not renewals.is_due(store, event.id):
        return event, run
    # Nothing was sent yet, whatever goes wrong.
    reading = replace(kind, policy=replace(kind.policy, writes=False))
    try:
        fresh = _kept(store, event, handler.rebuild(event, run), kind.registry.payload_max_bytes)
    except LeaseLost:
        raise
    except TimeLimitReached:
        return _without_doubt(timed_out(event, reading.policy))
    except Exception as error:  # noqa: BLE001 - user code
        return _without_doubt(ending_of(error, event, reading))
    return fresh, replace(run, effect_key=fresh.effect_key)


def _without_doubt(ending: Ending) -> Ending:
    probe = ending.as_probe and replace(ending.as_probe, doubts=0)
    return replace(ending, doubts=0, as_probe=probe)


def _kept(store: Store, event: Event, answer: Any, max_bytes: int) -> Event:
    """The event with the payload that was returned, stored. A payload that means another thing has its own effect key."""
    if not isinstance(answer, dict):
        raise TypeError(
            f"The refresh of {event.kind} returned {type(answer).__name__}; it must return the payload as a dict."
        )
    text = read_payload(answer, max_bytes=max_bytes)
    before = payload_hash(canonical_json(event.payload))
    stored, effect_key = event.payload_json, event.effect_key
    if text.digest != before:
        # Made from the last one and the epoch, which only grows, so it is one that no attempt has used.
        stored, effect_key = text.stored, keys.effect_key(event.effect_key, event.lease_epoch)
    if not renewals.keep(
        store, event, payload=stored, effect_key=effect_key, before=before, after=text.digest
    ):
        raise LeaseLost
    return replace(event, payload=decode_payload(stored), payload_json=stored, effect_key=effect_key)
