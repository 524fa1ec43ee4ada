"""Who watches a page that asks again every few seconds? Found out for all of them together, once in a while.

A poll takes what is known of its session; all sessions that poll are looked up by one statement every few seconds. So a
thousand people who watch cost the database no more than one, and those who watch while it is away keep what they see.
A session that was ended elsewhere, or whose person was disabled, polls on for ASKED_EVERY seconds at most. Everything
but polls is asked about exactly.
"""

from __future__ import annotations

from threading import Lock

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.store import people
from dlq_console.store.people import Person
from dlq_console.store.store import Store
from dlq_console.web.keeping import OfStore

#: Seconds between two looks at the sessions that watch.
ASKED_EVERY = 5.0
#: Seconds after its last poll at which a session is no longer looked up: longer than the longest rest between two.
FORGOTTEN_AFTER = 90.0
#: Seconds for which those who watch are believed while the database is away.
BELIEVED_FOR = 600.0


def watching(store: Store, token: str) -> Person | None:
    """Whose session that is, as it was known a few seconds ago; None where it has ended.

    Raises:
        StoreUnavailable: the database is away, and this session is not known.
    """
    return _watchers.get(store).find(store, people.hash_of(token))


def keep(store: Store, token: str, person: Person) -> None:
    """Remember what was just found out about a session, such as another language."""
    _watchers.get(store).keep(people.hash_of(token), person)


class _Watchers:
    """The sessions that watch, by the hashes of their tokens, with their people and their last polls."""

    def __init__(self) -> None:
        self._asking = Lock()
        self._known: dict[str, Person] = {}
        self._polled: dict[str, float] = {}
        self._asked_at = self._answered_at = monotonic()

    def find(self, store: Store, hash_: str) -> Person | None:
        now = monotonic()
        if now - self._asked_at >= ASKED_EVERY and self._asking.acquire(blocking=False):
            try:
                self._ask(store, now)
            finally:
                self._asking.release()
        found = self._known.get(hash_)
        if found is None or now - self._answered_at >= BELIEVED_FOR:
            found = people.session_people(store, [hash_]).get(hash_)
            if found is None:
                return None
        self.keep(hash_, found)
        return found

    def keep(self, hash_: str, person: Person) -> None:
        self._known[hash_], self._polled[hash_] = person, monotonic()

    def _ask(self, store: Store, now: float) -> None:
        self._asked_at = now
        watching = {hash_ for hash_, at in list(self._polled.items()) if now - at < FORGOTTEN_AFTER}
        try:
            self._known = people.session_people(store, watching)
        except StoreUnavailable:
            return
        self._polled = {hash_: at for hash_, at in list(self._polled.items()) if hash_ in self._known}
        self._answered_at = now


_watchers = OfStore(_Watchers)
