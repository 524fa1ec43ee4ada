"""Which tables there are. Built once per table prefix, because they may live in the user's own database.

Core tables rather than mapped classes: rows leave the store as frozen dataclasses, and the prefix is only known when
the settings are read. Payloads and results are TEXT holding JSON: what was given is kept digit for digit and in the
order in which it came, on both engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    Index,
    MetaData,
    SmallInteger,
    Table,
    Text,
    func,
    text,
)

from dlq_console.store import health_tables, triage_tables
from dlq_console.store.states import Status
from dlq_console.store.table_columns import id_, integer, moment, partial_index, text_
from dlq_console.store.types import BigId

NAMING = {
    "ix": "%(table_name)s_%(column_0_N_name)s_ix",
    "uq": "%(table_name)s_%(column_0_N_name)s_uq",
    "ck": "%(table_name)s_%(constraint_name)s_ck",
    "pk": "%(table_name)s_pk",
}

#: Table-level storage settings on PostgreSQL. A status change never stays within its page, so the default of
#: "a fifth of the table is dead" would let the hot partial indexes bloat for hours on a large table.
EVENT_STORAGE = {
    "fillfactor": "85",
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "20000",
    "autovacuum_vacuum_insert_scale_factor": "0.02",
    "autovacuum_analyze_scale_factor": "0",
    "autovacuum_analyze_threshold": "20000",
    "autovacuum_vacuum_cost_delay": "0",
}
#: Small tables that are updated all the time: vacuum early.
SMALL_STORAGE = {
    "fillfactor": "50",
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "1000",
}


@dataclass(frozen=True)
class Tables:
    """The tables under one prefix."""

    prefix: str
    metadata: MetaData
    event: Table
    attempt: Table
    audit: Table
    kind: Table
    scope: Table
    scope_change: Table
    scope_closing: Table
    worker: Table
    step: Table
    users: Table
    sessions: Table
    tokens: Table
    once: Table
    error_group: Table
    error_cause: Table
    shared: Table
    snapshot: Table
    event_field: Table
    desk: Table
    group_desk: Table
    tag: Table
    note: Table
    saved_view: Table
    bulk_run: Table
    bulk_item: Table
    rollup: Table
    sample: Table
    embed: Table
    alert: Table
    alert_snooze: Table


@cache
def tables(prefix: str) -> Tables:
    """Describe all tables under `prefix`."""
    metadata = MetaData(naming_convention=NAMING)
    return Tables(
        prefix=prefix,
        metadata=metadata,
        event=_event(metadata, prefix),
        attempt=_attempt(metadata, prefix),
        audit=_audit(metadata, prefix),
        kind=_kind(metadata, prefix),
        scope=_scope(metadata, prefix),
        scope_change=_scope_change(metadata, prefix),
        scope_closing=health_tables.scope_closing(metadata, prefix),
        worker=_worker(metadata, prefix),
        step=_step(metadata, prefix),
        users=_users(metadata, prefix),
        sessions=_sessions(metadata, prefix),
        tokens=_tokens(metadata, prefix),
        once=_once(metadata, prefix),
        error_group=_error_group(metadata, prefix),
        error_cause=_error_cause(metadata, prefix),
        shared=_shared(metadata, prefix),
        snapshot=_snapshot(metadata, prefix),
        event_field=triage_tables.event_field(metadata, prefix),
        desk=triage_tables.desk(metadata, prefix),
        group_desk=triage_tables.group_desk(metadata, prefix),
        tag=triage_tables.tag(metadata, prefix),
        note=triage_tables.note(metadata, prefix),
        saved_view=triage_tables.saved_view(metadata, prefix),
        bulk_run=triage_tables.bulk_run(metadata, prefix),
        bulk_item=triage_tables.bulk_item(metadata, prefix),
        rollup=health_tables.rollup(metadata, prefix),
        sample=health_tables.sample(metadata, prefix),
        embed=health_tables.embed(metadata, prefix),
        alert=health_tables.alert(metadata, prefix),
        alert_snooze=health_tables.alert_snooze(metadata, prefix),
    )


def _event(metadata: MetaData, prefix: str) -> Table:
    statuses = ", ".join(f"'{status}'" for status in Status)
    table = Table(
        f"{prefix}event",
        metadata,
        id_(),
        text_("kind"),
        text_("account"),
        text_("entity_id"),
        text_("idempotency_key"),
        text_("payload_hash"),
        text_("effect_key"),
        text_("version", null=True),
        text_("ordering_key", null=True),
        text_("lane", null=True),
        # What its death means for its lane: `block` or `skip`; NULL outside of lanes.
        text_("on_dead", null=True),
        text_("status"),
        text_("reason", null=True),
        Column("priority", SmallInteger, nullable=False, server_default=text("0")),
        integer("attempts"),
        integer("total_attempts"),
        # NULL: as the kind's policy says at the next claim.
        integer("max_attempts", None, null=True),
        integer("cycle"),
        # When this attempt became due: set at enqueue, after a failure and at reprocess; waiting for a closed
        # account does not move it, so that it measures the whole wait.
        moment("due_at", null=False),
        # When it may be claimed; a release moves it.
        moment("next_run_at", null=False),
        # From then on it is too late to start.
        moment("give_up_at"),
        moment("expires_at"),
        moment("dispatched_at"),
        integer("dispatch_count"),
        Column("lease_epoch", BigId, nullable=False, server_default=text("0")),
        text_("lease_owner", null=True),
        moment("lease_until"),
        moment("created_at", null=False),
        moment("updated_at", null=False),
        moment("started_at"),
        moment("finished_at"),
        text_("error_type", null=True),
        text_("last_error", null=True),
        text_("verdict", null=True),
        text_("fingerprint", null=True),
        # Fingerprint of the last time it died, and whether the next death was like it.
        text_("died_with", null=True),
        text_("died_again", null=True),
        text_("payload"),
        text_("result", null=True),
        integer("duplicates"),
        moment("last_duplicate_at"),
        text_("origin", null=True),
        Column("parent_id", BigId),
        Column("bulk_id", BigId),
        text_("trace_context", null=True),
        # 0: whether the outside system has it is known. Otherwise how often its verifier has been asked in vain, plus one.
        integer("doubts"),
        # The newer event of its entity that made it needless, or the one that holds its edited payload.
        Column("superseded_by", BigId),
        # What it was before a person's last act, so that the act can be taken back.
        text_("former_status", null=True),
        text_("former_reason", null=True),
        moment("former_finished_at"),
        # Its place in its lane where that is not its id: that of the event whose edited payload it holds.
        Column("place", BigId),
        CheckConstraint(f"status IN ({statuses})", name="status"),
        sqlite_autoincrement=True,
    )
    _event_indexes(table, prefix)
    return table


def _event_indexes(table: Table, prefix: str) -> None:
    """At most four indexes over the whole table (with the primary key); every list has a partial one of its own.

    No update of a status is ever cheap for an index, so their number is the price of every event.
    """
    c = table.c
    Index(f"{prefix}event_key_uq", c.idempotency_key, unique=True)
    Index(f"{prefix}event_entity_ix", c.entity_id, c.id)
    Index(f"{prefix}event_account_ix", c.account, c.id)

    def partial(name: str, where: str, *columns: Any, unique: bool = False) -> None:
        partial_index(f"{prefix}event_{name}", where, *columns, unique=unique)

    ready = "status IN ('pending', 'failed')"
    partial("ready_ix", ready, c.account, c.priority, c.next_run_at, c.id)
    partial("give_up_ix", f"{ready} AND give_up_at IS NOT NULL", c.give_up_at, c.id)
    partial("running_ix", "status = 'running'", c.account, c.lease_until, c.id)
    in_lane = func.coalesce(c.place, c.id)
    partial(
        "lane_open_ix", "status IN ('pending', 'failed', 'running') AND lane IS NOT NULL", c.lane, in_lane
    )
    partial("lane_blocked_ix", "status = 'blocked'", c.lane, in_lane)
    partial("lane_stopped_ix", "status = 'dead' AND on_dead = 'block'", c.lane, in_lane)
    # By when they were started: whether one has been since an earlier one was put aside.
    partial(
        "lane_ended_ix",
        "status IN ('done', 'dead', 'discarded') AND lane IS NOT NULL",
        c.lane,
        c.started_at,
    )
    partial("lane_running_uq", "status = 'running' AND lane IS NOT NULL", c.lane, unique=True)
    partial("dead_ix", "status = 'dead'", c.finished_at, c.id)
    partial("dead_kind_ix", "status = 'dead'", c.kind, c.finished_at, c.id)
    partial("dead_account_ix", "status = 'dead'", c.account, c.finished_at, c.id)
    partial("dead_account_kind_ix", "status = 'dead'", c.account, c.kind, c.finished_at, c.id)
    partial("dead_group_ix", "status = 'dead'", c.fingerprint, c.finished_at, c.id)
    partial("dead_group_account_ix", "status = 'dead'", c.fingerprint, c.account, c.finished_at, c.id)
    partial("dead_reason_ix", "status = 'dead'", c.reason, c.finished_at, c.id)
    partial("dead_verdict_ix", "status = 'dead'", c.verdict, c.finished_at, c.id)
    partial("discarded_ix", "status = 'discarded'", c.finished_at, c.id)
    partial("ended_ix", "status IN ('done', 'discarded')", c.finished_at, c.id)


def _attempt(metadata: MetaData, prefix: str) -> Table:
    table = Table(
        f"{prefix}attempt",
        metadata,
        id_(),
        Column("event_id", BigId, nullable=False),
        integer("cycle"),
        integer("number", None),
        Column("lease_epoch", BigId, nullable=False),
        text_("kind"),
        text_("account"),
        moment("due_at", null=False),
        moment("started_at", null=False),
        moment("ended_at", null=False),
        text_("outcome"),
        text_("error_type", null=True),
        text_("error", null=True),
        text_("traceback", null=True),
        text_("verdict", null=True),
        text_("fingerprint", null=True),
        # Seconds until the next run, where there is one.
        Column("wait_seconds", Float),
        text_("worker", null=True),
        # The rest of the verdict: what became of the call, which scope it concerns, where the wait comes from, which
        # rule of which set decided, and what the outside system said (JSON, redacted).
        text_("effect", null=True),
        text_("reach", null=True),
        text_("wait_source", null=True),
        text_("rule", null=True),
        text_("rules_version", null=True),
        text_("answer", null=True),
        sqlite_autoincrement=True,
    )
    Index(f"{prefix}attempt_event_ix", table.c.event_id, table.c.id)
    Index(f"{prefix}attempt_ended_ix", table.c.ended_at)
    return table


def _audit(metadata: MetaData, prefix: str) -> Table:
    table = Table(
        f"{prefix}audit",
        metadata,
        id_(),
        moment("at", null=False),
        text_("actor"),
        text_("action"),
        Column("event_id", BigId),
        text_("subject", null=True),
        text_("note", null=True),
        text_("before", null=True),
        text_("after", null=True),
        # Where the request came from, and through which door: `console`, `api`, `cli`, `python`.
        text_("address", null=True),
        text_("via", null=True),
        # Of an act upon many: its run and its filter.
        Column("bulk_id", BigId),
        text_("filter", null=True),
        # Of the event, so that whoever sees some accounts sees their acts.
        text_("account", null=True),
        sqlite_autoincrement=True,
    )
    Index(f"{prefix}audit_event_ix", table.c.event_id, table.c.id)
    Index(f"{prefix}audit_at_ix", table.c.at)
    Index(f"{prefix}audit_actor_ix", table.c.actor, table.c.id)
    Index(f"{prefix}audit_action_ix", table.c.action, table.c.id)
    return table


def _kind(metadata: MetaData, prefix: str) -> Table:
    return Table(
        f"{prefix}kind",
        metadata,
        Column("name", Text, primary_key=True),
        text_("policy"),
        integer("max_attempts", None),
        Column("timeout", Float, nullable=False),
        text_("provider", null=True),
        text_("worker", null=True),
        moment("published_at", null=False),
        # JSON: how fast and how many at once its provider allows; NULL where nothing is known.
        text_("limits", null=True),
        # JSON: which fields of payloads its older dead letters are given, and how far that has come; see `field_filling.py`.
        text_("filled", null=True),
    )


def _scope(metadata: MetaData, prefix: str) -> Table:
    table = Table(
        f"{prefix}scope",
        metadata,
        # account, method (name is <account>/<kind>) or provider
        Column("type", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        # The door that claims look at: the longest of what the provider, the circuit and a pause say.
        moment("closed_until"),
        text_("closed_reason", null=True),
        moment("closed_since"),
        integer("max_running", None, null=True),
        moment("created_at", null=False),
        moment("updated_at", null=False),
        # Of a method: its account and its kind; of an account: itself.
        text_("account", null=True),
        text_("kind", null=True),
        # 1: it has limits; 2: its circuit is not closed. Both are claimed from with care, one account at a time.
        integer("guarded"),
        # Whether a success would change its circuit, so that each must be told to it.
        integer("watched"),
        moment("provider_until"),
        text_("provider_reason", null=True),
        # JSON record of its circuit breaker; NULL is a blank one.
        text_("circuit", null=True),
        moment("paused_at"),
        moment("paused_until"),
        text_("paused_by", null=True),
        text_("pause_note", null=True),
        text_("pause_cause", null=True),
        # JSON record of its pace and error budget.
        text_("pace", null=True),
        moment("paced_until"),
    )
    partial_index(f"{prefix}scope_guarded_ix", "guarded > 0", table.c.account)
    return table


def _scope_change(metadata: MetaData, prefix: str) -> Table:
    """Every transition of a circuit, written by whoever brought it about."""
    table = Table(
        f"{prefix}scope_change",
        metadata,
        id_(),
        text_("type"),
        text_("name"),
        Column("generation", BigId, nullable=False),
        moment("at", null=False),
        text_("before"),
        text_("after"),
        text_("why"),
        text_("actor"),
        sqlite_autoincrement=True,
    )
    Index(f"{prefix}scope_change_generation_uq", table.c.type, table.c.name, table.c.generation, unique=True)
    Index(f"{prefix}scope_change_at_ix", table.c.at)
    return table


def _worker(metadata: MetaData, prefix: str) -> Table:
    return Table(
        f"{prefix}worker",
        metadata,
        Column("id", Text, primary_key=True),
        text_("mode"),
        text_("host"),
        integer("pid", None),
        text_("version"),
        integer("slots", None),
        # JSON list of the accounts it serves; NULL means all.
        text_("accounts", null=True),
        text_("state"),
        moment("started_at", null=False),
        moment("heartbeat_at", null=False),
    )


def _step(metadata: MetaData, prefix: str) -> Table:
    return Table(
        f"{prefix}step",
        metadata,
        Column("name", Text, primary_key=True),
        text_("owner", null=True),
        moment("lease_until"),
        moment("last_run_at"),
        text_("last_error", null=True),
    )


def _users(metadata: MetaData, prefix: str) -> Table:
    return Table(
        f"{prefix}users",
        metadata,
        id_(),
        Column("name", Text, nullable=False, unique=True),
        text_("password_hash"),
        text_("role"),
        # JSON list of the accounts this person may see; NULL means all.
        text_("accounts", null=True),
        text_("locale", null=True),
        text_("timezone", null=True),
        text_("theme", null=True),
        moment("created_at", null=False),
        moment("disabled_at"),
        moment("last_login_at"),
        # 1: single keys do nothing.
        integer("keys_off"),
        sqlite_autoincrement=True,
    )


def _sessions(metadata: MetaData, prefix: str) -> Table:
    table = Table(
        f"{prefix}sessions",
        metadata,
        # SHA-256 of the token in the person's cookie.
        Column("token_hash", Text, primary_key=True),
        Column("user_id", BigId, nullable=False),
        moment("created_at", null=False),
        moment("seen_at", null=False),
        moment("expires_at", null=False),
    )
    Index(f"{prefix}sessions_user_ix", table.c.user_id)
    return table


def _tokens(metadata: MetaData, prefix: str) -> Table:
    return Table(
        f"{prefix}tokens",
        metadata,
        id_(),
        Column("name", Text, nullable=False, unique=True),
        Column("token_hash", Text, nullable=False, unique=True),
        text_("role"),
        text_("accounts", null=True),
        moment("created_at", null=False),
        moment("last_used_at"),
        moment("revoked_at"),
        sqlite_autoincrement=True,
    )


def _once(metadata: MetaData, prefix: str) -> Table:
    table = Table(
        f"{prefix}once",
        metadata,
        # What was done, in words of whoever did it.
        Column("scope", Text, primary_key=True),
        Column("key", Text, primary_key=True),
        moment("created_at", null=False),
    )
    Index(f"{prefix}once_created_ix", table.c.created_at)
    return table


def _error_group(metadata: MetaData, prefix: str) -> Table:
    """The dead events of one cause in one account, as they were counted last."""
    table = Table(
        f"{prefix}error_group",
        metadata,
        Column("fingerprint", Text, primary_key=True),
        Column("account", Text, primary_key=True),
        # Of the one that died last.
        text_("kind"),
        text_("error_type", null=True),
        text_("verdict", null=True),
        text_("sample"),
        Column("sample_event_id", BigId, nullable=False),
        # Counted up to a cap.
        integer("dead"),
        # Of all that were ever seen dead; a group that comes back remembers when it began.
        moment("first_seen_at", null=False),
        moment("last_seen_at", null=False),
        moment("sampled_at", null=False),
        # How many of them died in each hour of the last day, as `groups.read_hours` reads it.
        text_("trend", null=True),
    )
    c = table.c
    Index(f"{prefix}error_group_sampled_ix", c.sampled_at)
    # For whoever may not see all accounts, or asks for some: the biggest of one, and of all.
    partial_index(f"{prefix}error_group_account_ix", "dead > 0", c.account, c.dead, c.fingerprint)
    partial_index(f"{prefix}error_group_dead_ix", "dead > 0", c.dead, c.fingerprint, c.account)
    # For alerts about causes that are new.
    partial_index(f"{prefix}error_group_first_ix", "dead > 0", c.first_seen_at)
    return table


def _error_cause(metadata: MetaData, prefix: str) -> Table:
    """The dead events of one cause in all accounts, added up from `error_group`; only causes that have any."""
    table = Table(
        f"{prefix}error_cause",
        metadata,
        Column("fingerprint", Text, primary_key=True),
        # Of the one that died last.
        text_("account"),
        text_("kind"),
        # The sum of its accounts, each up to a cap, and the largest of them.
        Column("dead", BigId, nullable=False),
        integer("largest", None),
        integer("accounts", None),
        moment("first_seen_at", null=False),
        moment("last_seen_at", null=False),
        # The oldest of the counts.
        moment("sampled_at", null=False),
    )
    Index(f"{prefix}error_cause_dead_ix", table.c.dead, table.c.last_seen_at, table.c.fingerprint)
    return table


def _shared(metadata: MetaData, prefix: str) -> Table:
    """Records of the resilience library that processes share, one per kind of record and name.

    Times are seconds since 1970 by the database's clock, as its rules compute with them.
    """
    table = Table(
        f"{prefix}shared",
        metadata,
        Column("kind", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        # JSON, compared letter by letter before it is changed.
        text_("value"),
        Column("expires_at", Float(53), nullable=False),
        postgresql_with=SMALL_STORAGE,
    )
    Index(f"{prefix}shared_expires_ix", table.c.expires_at)
    return table


def _snapshot(metadata: MetaData, prefix: str) -> Table:
    """What pages read instead of asking for it: one row per thing that is shown, written anew when it has changed."""
    return Table(
        f"{prefix}snapshot",
        metadata,
        # Which reading it belongs to, such as the circuits of services.
        Column("reading", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        # JSON.
        text_("value"),
        moment("changed_at", null=False),
        postgresql_with=SMALL_STORAGE,
    )
