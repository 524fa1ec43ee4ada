"""Who keeps the processes of the storm running? What has ended is started again, as a service manager would."""

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from tests.services.process import Child, wait_until
from tests.services.reaper import kill_group

#: Seconds between the end of a process and the start of the one that follows it.
RESTART_AFTER = 0.3


@dataclass
class Member:
    """One place in the crew and the process that fills it.

    Attributes:
        name: of the place.
        arguments: module and arguments of its program.
        at_work: part of the line that it prints once it works; empty for one that works at once.
        ends: whether it may end with exit status 0, once its work is done.
    """

    name: str
    arguments: tuple[str, ...]
    at_work: str = ""
    ends: bool = False
    life: Child | None = None
    #: Whether that process has come so far as to work.
    has_begun: bool = False
    ended_at: float | None = None
    killed: bool = False
    #: Seconds for which its place stays empty after the end of its process.
    away: float = RESTART_AFTER

    @property
    def done(self) -> bool:
        """Whether it has ended as it may."""
        return (
            self.ends and self.life is not None and not self.life.running and self.life.wait_for_exit() == 0
        )

    @property
    def works(self) -> bool:
        """Whether its process lives and has come so far as to work."""
        life = self.living()
        if life is not None and not self.has_begun:
            self.has_begun = self.at_work in life.output()
        return life is not None and self.has_begun

    def living(self) -> Child | None:
        """Its process, if it runs or is frozen."""
        return self.life if self.life is not None and self.life.running else None


@dataclass
class Crew:
    """All processes of the storm but the servers."""

    folder: Path
    environment: Mapping[str, str]
    members: dict[str, Member] = field(default_factory=dict)
    #: How often members were killed, and how often they ended by themselves.
    counts: Counter[str] = field(default_factory=Counter)
    #: The last words of those that ended by themselves, and what those said that were at work and had a traceback to tell.
    last_words: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stack = ExitStack()
        self._lives = itertools.count(1)
        self._frozen: list[psutil.Process] = []

    def start(self, member: Member) -> None:
        """Take a member on."""
        self.members[member.name] = member
        self._begin_life(member)

    def tend(self) -> None:
        """Start again whoever has ended and should not have."""
        for member in self.members.values():
            if member.living() or member.done or member.life is None:
                continue
            if member.ended_at is None:
                self._note_the_end(member, member.life)
            elif time.monotonic() >= member.ended_at + member.away:
                self._begin_life(member)

    def kill(self, place: str, choice: Random, *, with_children: bool, away: float = RESTART_AFTER) -> bool:
        """End a member at work as the kernel would, or as if its machine was lost; False if there was none.

        Another process takes its place after `away` seconds.
        """
        member = self._some_member(place, choice)
        if member is None or member.life is None:
            return False
        member.killed, member.away = True, away
        if with_children:
            kill_group(member.life.pid)
        member.life.kill()
        return True

    def kill_child(self, place: str, choice: Random) -> bool:
        """End one of the processes that a member has started; False if there was none."""
        child = self._some_child(place, choice)
        if child is None:
            return False
        with suppress(psutil.NoSuchProcess):
            child.kill()
        return True

    def freeze(self, place: str, choice: Random, *, with_children: bool) -> list[psutil.Process]:
        """Stop a member at work, to go on when it is thawed; returns what was stopped."""
        member = self._some_member(place, choice, awake=True)
        if member is None or member.life is None:
            return []
        with suppress(psutil.NoSuchProcess):
            main = psutil.Process(member.life.pid)
            return self._freeze([main, *(_children(member.life) if with_children else ())])
        return []

    def freeze_child(self, place: str, choice: Random) -> list[psutil.Process]:
        """Stop one of the processes that a member has started; returns what was stopped."""
        child = self._some_child(place, choice)
        return self._freeze([child] if child else [])

    def thaw(self, processes: Sequence[psutil.Process]) -> None:
        """Let these go on."""
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)

    def thaw_all(self) -> None:
        """Let everybody go on who was ever stopped."""
        self.thaw(self._frozen)
        self._frozen.clear()

    def stop(self, timeout: float) -> dict[str, int]:
        """Ask everybody to end; returns the exit status of each."""
        self.thaw_all()
        living = {name: member.life for name, member in self.members.items() if member.life is not None}
        for life in living.values():
            if life.running:
                life.send(signal.SIGTERM)
        deadline = time.monotonic() + timeout
        for life in living.values():
            with suppress(AssertionError):
                life.wait_for_exit(max(0.1, deadline - time.monotonic()))
        return {name: life.stop() for name, life in living.items()}

    def close(self) -> None:
        """End whatever is left."""
        self.thaw_all()
        self._stack.close()

    def at_work(self, place: str) -> list[Member]:
        """The members in such a place, such as `worker-2` in `worker`, that are at work."""
        members = [member for member in self.members.values() if member.name.startswith(place)]
        return [member for member in members if member.works]

    def wait_until_all_live(self, timeout: float) -> None:
        """Tend until every place is filled by a process that works."""

        def all_live() -> bool:
            self.tend()
            return all(member.done or member.works for member in self.members.values())

        wait_until(all_live, timeout, "every process to work again")

    def _begin_life(self, member: Member) -> None:
        folder = self.folder / f"{member.name}-{next(self._lives):03}"
        folder.mkdir()
        program = [sys.executable, "-m", *member.arguments]
        member.life = self._stack.enter_context(Child(program, env=self.environment, folder=folder))
        member.has_begun, member.ended_at, member.killed, member.away = False, None, False, RESTART_AFTER

    def _note_the_end(self, member: Member, life: Child) -> None:
        member.ended_at = time.monotonic()
        self.counts["killed" if member.killed else "ended by itself"] += 1
        if not member.killed:
            said = life.output()
            self.last_words.append(f"{member.name}, status {life.wait_for_exit()}: {said.strip()[-300:]}")
            if member.at_work in said and "Traceback (most recent call last)" in said:
                self.crashes.append(f"{member.name}: {said[-6000:]}")

    def _some_member(self, place: str, choice: Random, *, awake: bool = False) -> Member | None:
        """One that is still starting is left alone: on a slow machine none would ever come to work otherwise.

        With `awake` also one that is frozen, because the end of either freeze would be that of both.
        """
        members = [member for member in self.at_work(place) if not (awake and _is_frozen(member))]
        return choice.choice(members) if members else None

    def _some_child(self, place: str, choice: Random) -> psutil.Process | None:
        member = self._some_member(place, choice)
        children = _children(member.life) if member and member.life else []
        return choice.choice(children) if children else None

    def _freeze(self, processes: Sequence[psutil.Process]) -> list[psutil.Process]:
        stopped = []
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)
                stopped.append(process)
        self._frozen += stopped
        return stopped


def _is_frozen(member: Member) -> bool:
    with suppress(psutil.NoSuchProcess):
        return member.life is not None and psutil.Process(member.life.pid).status() == psutil.STATUS_STOPPED
    return False


def _children(life: Child) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return sorted(psutil.Process(life.pid).children(recursive=True), key=lambda child: child.pid)
    return []
