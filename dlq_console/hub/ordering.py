"""In which lane does an event stand, and what does its death mean for those behind it?"""

from __future__ import annotations

from typing import Literal

from dlq_console.errors import PayloadRefused
from dlq_console.hub.policy import Policy
from dlq_console.store.keys import MAX_ENTITY_ID, check_text
from dlq_console.store.lane_names import lane_name

Place = tuple[str | None, str | None, Literal["block", "skip"] | None]


def place(
    policy: Policy, account: str, entity_id: str, *, ordering_key: str | None, serial: bool | None
) -> Place:
    """The ordering key, the lane and what happens when the event dies; all None for an event without order.

    What the producer says goes before what the kind's policy says. Where the policy orders by key and the producer
    names none, the key is the entity id.

    Raises:
        PayloadRefused: both `serial` and `ordering_key` are given, or the key cannot be stored.
    """
    if serial not in (None, True, False):
        raise PayloadRefused("serial: write True, False or nothing.")
    if serial and ordering_key is not None:
        raise PayloadRefused(
            "serial, ordering_key: give one of them; the serial lane takes every event of the account."
        )
    if serial is None:
        serial = policy.order == "account" and ordering_key is None
    if serial:
        return None, lane_name(account, None), policy.on_dead or "block"
    if ordering_key is None and policy.order == "key":
        ordering_key = entity_id
    if ordering_key is None:
        return None, None, None
    key = check_text(ordering_key, "ordering_key", max_length=MAX_ENTITY_ID)
    return key, lane_name(account, key), policy.on_dead or "skip"
