"""What do people put on events and causes: who sees to it, until when, tags, notes, how it is fixed?

Nothing of it stands on the event's own row, so that no worker ever waits for a person here, nor a person for a worker.
The functions that write take the transaction of their caller and write their audit rows in it.
"""

from dlq_console.store.desk.groups import assign_group, group_marks, set_playbook
from dlq_console.store.desk.putting_back import put_back
from dlq_console.store.desk.reading import account_of, accounts_of, assignable, marks, notes, sees_account
from dlq_console.store.desk.taking_back import Act, Acted, acted, changes_of
from dlq_console.store.desk.values import (
    MAX_NOTE,
    MAX_TAG,
    MAX_TAGS,
    NO_GROUP_MARKS,
    NO_MARKS,
    Assignment,
    Change,
    GroupMarks,
    Marks,
    Note,
    clean_tags,
    read_assignment,
)
from dlq_console.store.desk.writing import (
    add_note,
    assign,
    carry_over,
    change_tags,
    held_by,
    snooze,
    tags_of,
)

__all__ = [
    "MAX_NOTE",
    "MAX_TAG",
    "MAX_TAGS",
    "NO_GROUP_MARKS",
    "NO_MARKS",
    "Act",
    "Acted",
    "Assignment",
    "Change",
    "GroupMarks",
    "Marks",
    "Note",
    "account_of",
    "accounts_of",
    "acted",
    "add_note",
    "assign",
    "assign_group",
    "assignable",
    "carry_over",
    "change_tags",
    "changes_of",
    "clean_tags",
    "group_marks",
    "held_by",
    "marks",
    "notes",
    "put_back",
    "read_assignment",
    "sees_account",
    "set_playbook",
    "snooze",
    "tags_of",
]
