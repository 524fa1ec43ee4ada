"""What is said of each finding of the doctor? What is wrong, why that hurts, and how to fix it.

English here, for the command line; pages translate it. Figures of a finding fill the places in a sentence.
"""

from __future__ import annotations

from typing import NamedTuple

from dlq_console.health.findings import Finding

#: Marks a sentence for the catalogues; they are looked up where it is shown.
N_ = str


class Words(NamedTuple):
    """The three sentences of a finding."""

    what: str
    why: str
    fix: str


#: By the id of the finding.
WORDS: dict[str, Words] = {
    "check_failed": Words(
        N_("The check %(check)s could not be made: %(reason)s."),
        N_("What it looks for may be there all the same."),
        N_("Look at the reason; report it as a fault of DLQ Console if it is not one of the installation."),
    ),
    "database_away": Words(
        N_("The database does not answer. %(reason)s"),
        N_("Nothing is taken in, nothing runs, and no page can be shown."),
        N_("Start the database, or correct DLQ_DATABASE_URL."),
    ),
    "tables_missing": Words(
        N_("There are no tables of DLQ Console in %(place)s."),
        N_("Nothing can be taken in or run."),
        N_("Create the tables."),
    ),
    "tables_old": Words(
        N_("The tables are of version %(found)s, this program needs %(own)s."),
        N_("Workers and pages of this version refuse to work with them."),
        N_("Bring the tables to the version of this program."),
    ),
    "clock": Words(
        N_("The clocks of this machine and of the database differ by %(seconds)s seconds."),
        N_("Logs and pages tell other times than the events, so that cause and effect change places."),
        N_("Let both machines take their time from the same server."),
    ),
    "autovacuum_off": Words(
        N_("Autovacuum of PostgreSQL is switched off."),
        N_("Every change leaves a dead row behind; claims get slower from day to day and the disk fills."),
        N_("Switch it on."),
    ),
    "autovacuum_off_table": Words(
        N_("Autovacuum is switched off for the table %(table)s."),
        N_("Every change leaves a dead row behind; claims get slower from day to day and the disk fills."),
        N_("Switch it on for that table."),
    ),
    "autovacuum_behind": Words(
        N_("The table %(table)s holds %(dead)s dead rows that nobody has tidied up."),
        N_("Every look at the table reads them too, so that claims get slower."),
        N_("Look for a long transaction, end it, and tidy up once by hand."),
    ),
    "long_transaction": Words(
        N_(
            "The process %(process)s of PostgreSQL has a transaction open for %(minutes)s minutes (%(state)s)."
        ),
        N_("Nothing that died since then can be tidied up, in any table."),
        N_("Find out who it is; commit, or end it."),
    ),
    "sqlite_journal": Words(
        N_("SQLite works with the journal mode %(mode)s instead of WAL."),
        N_("Every reader stops every writer, and the other way round: “database is locked”."),
        N_("Put the file on a local disk; network folders know no WAL."),
    ),
    "sqlite_busy": Words(
        N_("A writer of SQLite waits only %(milliseconds)s ms for its turn."),
        N_("Two that write at once fail instead of waiting for each other."),
        N_("Leave the busy timeout as DLQ Console sets it."),
    ),
    "sqlite_deferred": Words(
        N_("SQLite refused a write in recent attempts of %(kind)s: %(number)s."),
        N_(
            "A transaction that reads first and writes later fails at once when somebody else has written in between, whatever the busy timeout."
        ),
        N_("Begin transactions in which you enqueue with BEGIN IMMEDIATE, or enqueue before you read."),
    ),
    "redis_away": Words(
        N_("Redis at %(place)s cannot be reached: %(reason)s"),
        N_("Messages are sent late, and guards of services know only what their own process saw."),
        N_("Start it, or correct the address in DLQ_BROKER_URL or DLQ_REDIS_URL."),
    ),
    "redis_eviction": Words(
        N_("Redis at %(place)s drops keys to make room: maxmemory-policy is %(policy)s."),
        N_(
            "A whole queue is one key: its messages vanish without an error, and so does the mark that something was done already."
        ),
        N_("Set the policy to noeviction, here and in the configuration file."),
    ),
    "redis_no_limit": Words(
        N_("Redis at %(place)s has no limit for its memory."),
        N_("It grows until the machine has none left, and then the machine ends it, or something else."),
        N_("Set maxmemory to what the machine can spare, here and in the configuration file."),
    ),
    "redis_full": Words(
        N_("Redis at %(place)s has used %(percent)s percent of its memory."),
        N_("When it is full it refuses messages, or drops others."),
        N_("Find out what fills it, and give it more."),
    ),
    "redis_forgets": Words(
        N_("Redis at %(place)s keeps nothing on disk."),
        N_("After a restart no guard knows what was done already, and idempotent calls are made again."),
        N_("Switch on the append-only file, here and in the configuration file."),
    ),
    "redis_cannot_save": Words(
        N_("Redis at %(place)s cannot write itself to disk."),
        N_("It then refuses every write, and no message is sent."),
        N_("Look at its log; most often the disk is full."),
    ),
    "redis_shared": Words(
        N_("Others keep %(keys)s keys in the Redis of the broker at %(place)s: %(examples)s."),
        N_("A cache fills the memory that messages need, and whoever flushes it deletes the queues."),
        N_("Give the broker a Redis of its own."),
    ),
    "visibility": Words(
        N_(
            "A handler of %(kind)s may take %(seconds)s seconds; Redis hands its message out again after %(visibility)s."
        ),
        N_(
            "A second worker takes the message while the first one still works. The claim refuses it, but the slot is spent on nothing."
        ),
        N_("Lower Policy.timeout of that kind, or split its work."),
    ),
    "broker_away": Words(
        N_("The broker at %(place)s cannot be reached: %(reason)s"),
        N_("Nothing is lost, but no worker hears of new work until it is back."),
        N_("Start it, or correct DLQ_BROKER_URL."),
    ),
    "queue_missing": Words(
        N_("The queue %(queue)s does not exist, though %(number)s messages were sent there."),
        N_("Those messages are lost; they are sent again later and lost again."),
        N_("Start a worker that serves the account: it declares the queue. Find out who deletes it."),
    ),
    "queue_unserved": Words(
        N_("Nobody listens to the queue %(queue)s, in which %(number)s messages lie."),
        N_("Its work waits for ever."),
        N_("Start a worker for it."),
    ),
    "broker_more": Words(
        N_("The broker holds %(broker)s messages, the table knows of %(table)s."),
        N_(
            "Doubles are refused and cost time only; but it may be the work of another installation on the same queues."
        ),
        N_("Give each installation a DLQ_QUEUE_PREFIX of its own."),
    ),
    "broker_less": Words(
        N_("The broker holds %(broker)s messages, the table knows of %(table)s."),
        N_("Messages get lost on the way; each is late by ten seconds or more before it is sent again."),
        N_("Look whether the broker drops messages or was emptied, and whether workers crash."),
    ),
    "scheduler_dead": Words(
        N_("No periodic step has run for %(minutes)s minutes."),
        N_("Crashed work is not rescued, retries are not sent, figures stand still, and no alert can leave."),
        N_("Start a worker, or the scheduler alone."),
    ),
    "step_fails": Words(
        N_("The periodic step %(step)s fails: %(error)s"),
        N_("What it does is not done; it is tried again each time."),
        N_("Read the log of the workers for the place of the error."),
    ),
    "step_silent": Words(
        N_("The periodic step %(step)s has not run for %(minutes)s minutes."),
        N_("What it does is not done."),
        N_("Look whether workers of an older version are the only ones that run steps."),
    ),
    "accounts_unserved": Words(
        N_("Events are due in accounts that no living worker serves: %(number)s."),
        N_("They wait until somebody starts a worker for them."),
        N_("Start a worker without --accounts, or add these to one."),
    ),
    "no_worker": Words(
        N_("Events are due and no worker is alive; accounts that wait: %(number)s."),
        N_("Nothing runs."),
        N_("Start a worker."),
    ),
    "worker_versions": Words(
        N_("Workers of different versions are alive: %(versions)s; this program is %(own)s."),
        N_("The same event is run now by one set of rules, now by another."),
        N_("Restart the older ones."),
    ),
    "lanes_stopped": Words(
        N_("Accounts in which a lane stands still behind a dead event: %(number)s."),
        N_("Everything behind it waits until a person decides."),
        N_("Reprocess or discard the dead event, or skip it."),
    ),
    "growth": Words(
        N_("For an hour more has come than ended: %(came)s against %(ended)s."),
        N_("What waits grows without end, and with it the lag."),
        N_("Add workers or slots, raise the provider's limit, or find out why so much comes."),
    ),
    "retention_off": Words(
        N_("Nothing is ever deleted: DLQ_RETENTION_DAYS is %(days)s."),
        N_("The database grows until the disk is full, and personal data is kept for ever."),
        N_("Keep what is over for as long as somebody asks for it."),
    ),
    "prune_behind": Words(
        N_("The oldest event that is over ended %(oldest)s days ago, though only %(days)s are to be kept."),
        N_("The step that deletes does not keep up, so the database grows."),
        N_("Look whether the step prune fails, or wait until it has caught up."),
    ),
    "kind_unhandled": Words(
        N_("Events of the kind %(kind)s wait, and no worker has a handler for it."),
        N_("After an hour they are dead letters."),
        N_("Start workers with the code that handles it, or correct the name where it is enqueued."),
    ),
    "kind_retries": Words(
        N_("The kind %(kind)s is tried up to %(attempts)s times."),
        N_("What fails for good never reaches a person, and every attempt costs the provider a call."),
        N_("Lower Policy.max_attempts; a closed door spends no attempts anyway."),
    ),
    "kind_unlimited": Words(
        N_("A run of the kind %(kind)s may take %(hours)s hours."),
        N_("A call that hangs keeps its slot for as long, which is as good as no limit."),
        N_("Lower Policy.timeout to what the slowest good call takes."),
    ),
    "kind_doubles": Words(
        N_("The kind %(kind)s is tried again when nobody knows whether the last call arrived."),
        N_("The provider may then do it twice: two orders, two payments."),
        N_(
            "Hand the effect key to the provider and say unique_at_provider, write a verifier, or say writes=False."
        ),
    ),
    "payload_secrets": Words(
        N_("Payloads of the kind %(kind)s carry fields that look like secrets: %(fields)s."),
        N_(
            "Payloads are kept as they are given and read by whoever may reveal them, and they are in every backup."
        ),
        N_("Enqueue a reference and let the handler look the secret up; list further names in DLQ_REDACT."),
    ),
    "embed_expired": Words(
        N_("The time of the status frame %(name)s is over."),
        N_("The page that shows it has an empty place."),
        N_("Rotate it, or revoke it and remove it from that page."),
    ),
    "alerts_wrong": Words(
        N_("The file of rules of alerts has a mistake: %(error)s"),
        N_("No rule is looked at, so nobody is told of anything."),
        N_("Repair the file that DLQ_ALERTS names; it is read again every 15 seconds."),
    ),
    "public_url": Words(
        N_("DLQ_PUBLIC_URL is not set, though alerts or frames need an address of the console."),
        N_("People who are alerted do not know where to look."),
        N_("Set it to the address under which people open the console."),
    ),
    "secret_weak": Words(
        N_("DLQ_SECRET_KEY can be guessed."),
        N_("Whoever has it can log in as anybody."),
        N_("Make a new one; everybody has to log in again."),
    ),
    "debug": Words(
        N_("FLASK_DEBUG is set."),
        N_("Faults show the inside of the program to whoever causes one."),
        N_("Take it out of the environment of the console."),
    ),
}


def in_english(finding: Finding) -> Words:
    """Its sentences, filled in."""
    words = WORDS[finding.id]
    return Words(*(text % finding.figures for text in words))
