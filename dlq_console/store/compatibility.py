"""Which tables can a program work with? Its own, those one step older, and those one step newer.

An installation is upgraded while it works: for some minutes, programs of two versions meet the tables of one of them.
A step is one migration, and migrations are numbered without a gap. Two rules make the meeting safe. A migration only
adds, and what it adds has a default or may be empty: an older program never notices. A program uses what a migration
adds one step later, or says in `NEEDED` that it cannot wait.
"""

from __future__ import annotations

#: The newest migration that the statements of this program cannot do without. While it stands behind the newest
#: migration of all, a program of this version also works before the tables have been upgraded.
NEEDED = "0005"


def works_with(found: str, own: str) -> bool:
    """Whether a program works with the tables it has found.

    Args:
        found: the revision of the tables.
        own: the newest migration that the program carries.
    """
    return found.isdecimal() and max(int(NEEDED), int(own) - 1) <= int(found) <= int(own) + 1


def is_newer(found: str, own: str) -> bool:
    """Whether the tables were made by a newer program; arguments as for `works_with`."""
    return found.isdecimal() and int(found) > int(own)


def too_new(found: str, own: str) -> str:
    """What to say about tables that are newer than a program can work with; arguments as for `works_with`."""
    return (
        f"The tables are of version {found}, more than one step newer than this program, which knows {own}; "
        "install a newer version of DLQ Console."
    )
