"""What does one process keep of status frames? Rows for half a minute, answers for a quarter, uses until they are noted.

So a frame on a page that thousands look at costs one row and two answers a minute, and one note of its use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.store import embeds
from dlq_console.store.accounts import is_known
from dlq_console.store.embeds import Embed, Standing
from dlq_console.store.store import Store
from dlq_console.web.keeping import Keeper

#: Seconds for which a row is not read again: so long a frame that was revoked can still be seen.
ROW_FOR = 30.0
#: Seconds for which an answer is given again.
ANSWER_FOR = 15.0
#: Seconds between two notes of the use of one frame.
NOTED_EVERY = 30.0
#: Rows and answers that are kept; there are several answers to a frame, by colours, size and language.
MOST_ROWS, MOST_ANSWERS = 1_000, 500


@dataclass(frozen=True, slots=True)
class Row:
    """A frame as it was read, and which of its accounts exist."""

    embed: Embed
    exist: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """Something that is sent; the same for everybody who asks for it."""

    body: str
    etag: str


@dataclass(slots=True)
class Use:
    """How often a frame was asked for since it was noted last, by which page, and when that was."""

    hits: int = 0
    origin: str | None = None
    noted_at: float | None = None


class EmbedState:
    """The frames of one application."""

    def __init__(self) -> None:
        self._rows: Keeper[int, Row | None] = Keeper(ROW_FOR, most=MOST_ROWS)
        self._answers: Keeper[object, Answer] = Keeper(ANSWER_FOR, most=MOST_ANSWERS)
        self._uses: dict[int, Use] = {}
        self._counting = Lock()

    def row(self, store: Store, embed_id: int, version: int) -> Row | None:
        """The frame of that id, if that version of it can be seen now; None where it cannot, for whatever reason."""
        try:
            kept = self._rows.get(embed_id, lambda: _read(store, embed_id))
        except StoreUnavailable:
            return None
        row = kept.value
        if row is None or row.embed.version != version or row.embed.standing != Standing.ACTIVE:
            return None
        return row if row.embed.left > monotonic() - kept.made_at else None

    def answer(self, key: object, make: Callable[[], Answer]) -> Answer:
        """What is answered to `key`, a tuple of all that it depends on."""
        return self._answers.get(key, make).value

    def forget(self) -> None:
        """Let what was done to a frame be seen at once, in this process."""
        self._rows.forget()
        self._answers.forget()

    def used(self, store: Store, embed_id: int, origin: str | None) -> None:
        """Count that a frame was asked for, and note it now and then."""
        with self._counting:
            use = self._uses.setdefault(embed_id, Use())
            use.hits += 1
            use.origin = origin or use.origin
            if use.noted_at is not None and monotonic() - use.noted_at < NOTED_EVERY:
                return
            hits, use.hits, use.noted_at = use.hits, 0, monotonic()
        if not embeds.note_use(store, embed_id, hits=hits, origin=use.origin):
            with self._counting:
                use.hits += hits


def _read(store: Store, embed_id: int) -> Row | None:
    embed = embeds.find(store, embed_id)
    if embed is None:
        return None
    return Row(embed, frozenset(name for name in embed.accounts or () if is_known(store, name)))
