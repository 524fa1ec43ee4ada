"""Which tables hold how things went and how they stand: figures per minute, samples, closings, frames, alerts."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, MetaData, SmallInteger, Table, Text, text

from dlq_console.store.table_columns import id_, integer, moment, partial_index, text_
from dlq_console.store.types import UtcTime

#: Columns of each histogram: durations up to 10 ms, 30 ms, 100 ms ... 1 h, and longer; see `health/histograms.py`.
BINS = 12
#: What is counted per bucket.
COUNTED = (
    "arrived", "tried", "first_tried", "done", "failed", "died", "reopened", "resolved", "tries_of_done", "superseded",
    "in_doubt", "duplicates",
)  # fmt: skip
#: What is added up per bucket, in milliseconds.
ADDED = (
    "lag_ms", "wait_ms", "run_ms", "end_to_end_ms", "lost_retry_ms", "lost_limit_ms", "lost_closed_ms", "lost_order_ms",
)  # fmt: skip
#: What is the largest of its kind in a bucket, in milliseconds.
LARGEST = ("lag_max_ms", "run_max_ms")
#: Histograms, each of BINS columns.
HISTOGRAMS = ("lag", "wait", "run")
#: What a sample counts.
SAMPLED = ("due", "scheduled", "paused", "blocked", "running", "dead")


def rollup(metadata: MetaData, prefix: str) -> Table:
    """What was done in each minute, hour and day: by account and kind, by account (no kind), and in all (neither)."""
    return Table(
        f"{prefix}rollup",
        metadata,
        # Minutes of the bucket: 1, 60 or 1440.
        Column("grain", SmallInteger, primary_key=True, autoincrement=False),
        Column("account", Text, primary_key=True),
        Column("kind", Text, primary_key=True),
        Column("bucket", UtcTime, primary_key=True),
        *(integer(name) for name in COUNTED),
        *(Column(name, BigInteger, nullable=False, server_default=text("0")) for name in (*ADDED, *LARGEST)),
        *(integer(f"{name}{place}") for name in HISTOGRAMS for place in range(BINS)),
    )


def sample(metadata: MetaData, prefix: str) -> Table:
    """How much waited in each minute, at most in each hour and day; of each account, and in all (no account)."""
    return Table(
        f"{prefix}sample",
        metadata,
        Column("grain", SmallInteger, primary_key=True, autoincrement=False),
        # The time first: see `standing.py`.
        Column("bucket", UtcTime, primary_key=True),
        Column("account", Text, primary_key=True),
        *(integer(name) for name in SAMPLED),
        # How long the first of those that are due had waited.
        Column("oldest_due_ms", BigInteger, nullable=False, server_default=text("0")),
    )


def scope_closing(metadata: MetaData, prefix: str) -> Table:
    """Every time in which a provider or a person kept a door closed; what circuits did by themselves is in `scope_change`."""
    table = Table(
        f"{prefix}scope_closing",
        metadata,
        id_(),
        text_("type"),
        text_("name"),
        # `provider`, `pause`, `auth`, or `circuit` where a person held it open.
        text_("cause"),
        moment("began_at", null=False),
        # Set when it begins, moved when it lasts longer or ends sooner; NULL until somebody ends it.
        moment("until_at"),
        text_("reason", null=True),
        sqlite_autoincrement=True,
    )
    c = table.c
    Index(f"{prefix}scope_closing_began_ix", c.type, c.name, c.began_at)
    Index(f"{prefix}scope_closing_until_ix", c.until_at)
    return table


def embed(metadata: MetaData, prefix: str) -> Table:
    """Frames that pages of others show: what may be seen in them, where, and until when."""
    return Table(
        f"{prefix}embed",
        metadata,
        id_(),
        Column("name", Text, nullable=False, unique=True),
        # JSON list; NULL means all.
        text_("accounts", null=True),
        # JSON list of https origins that may frame it.
        text_("origins"),
        # `status` or `figures`.
        text_("detail"),
        # In its address; counted up when that is replaced.
        integer("version", 1),
        text_("created_by"),
        moment("created_at", null=False),
        moment("expires_at", null=False),
        moment("paused_at"),
        moment("revoked_at"),
        moment("last_seen_at"),
        text_("last_origin", null=True),
        integer("hits"),
        sqlite_autoincrement=True,
    )


def alert(metadata: MetaData, prefix: str) -> Table:
    """What a rule has found, from when to when; one that is open is updated, never doubled."""
    table = Table(
        f"{prefix}alert",
        metadata,
        id_(),
        # Name of its rule.
        text_("rule"),
        # What that rule looked at, so that a notice outlives it.
        text_("condition", null=True),
        # What it is about: an account, `<account>/<kind>`, a lane, a queue; empty for the whole installation.
        text_("subject"),
        text_("level"),
        # What was found, as figures (JSON), for a sentence in the reader's language.
        text_("found"),
        Column("value", Float),
        # The largest that `value` has been.
        Column("worst", Float),
        moment("opened_at", null=False),
        # When it was found last.
        moment("seen_at", null=False),
        moment("closed_at"),
        moment("told_at"),
        integer("told"),
        sqlite_autoincrement=True,
    )
    c = table.c
    partial_index(f"{prefix}alert_open_uq", "closed_at IS NULL", c.rule, c.subject, unique=True)
    Index(f"{prefix}alert_opened_ix", c.opened_at, c.id)
    return table


def alert_snooze(metadata: MetaData, prefix: str) -> Table:
    """Which rules tell nobody for a while, who said so, and why."""
    return Table(
        f"{prefix}alert_snooze",
        metadata,
        Column("rule", Text, primary_key=True),
        moment("until", null=False),
        text_("actor"),
        text_("note"),
        moment("at", null=False),
    )
