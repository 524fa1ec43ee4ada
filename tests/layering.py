"""Which module imports which, and does every arrow point down? Read from the source, nothing is run.

An import counts wherever it stands: at the top, inside a function, under TYPE_CHECKING, or as
`importlib.import_module("a literal name")`. A type that comes from above is an arrow from above too.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """One arrow: who imports what, in which line.

    Attributes:
        source: dotted name of the importing module.
        target: dotted name of the module of the package, or the top name of a foreign package.
        line: line in the source file.
    """

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class Room:
    """What one row of the table of rooms says.

    Attributes:
        rooms: rooms it may import, or single modules of them as `room.module`.
        packages: foreign packages that each of its modules may import, beside the standard library.
        packages_of: foreign packages that a single module of it, or a folder of modules, may import as well.
        never: rooms and foreign packages that it must not reach, not even through other rooms.
    """

    rooms: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    packages_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    never: frozenset[str] = frozenset()


@dataclass(frozen=True)
class House:
    """The table of rooms.

    Attributes:
        package: name of the package.
        rooms: a row per room.
        leaves: modules at the top of the package that form the room "leaves"; every room may import them.
        free: rooms and modules that may import anything, and that no room may import.
        only_from: modules that only the named rooms and modules may import.
    """

    package: str
    rooms: Mapping[str, Room]
    leaves: frozenset[str]
    free: frozenset[str]
    only_from: Mapping[str, frozenset[str]] = field(default_factory=dict)


class Plan:
    """The arrows of a package as they are.

    Args:
        folder: the folder of the package; its name is the name of the package.
    """

    def __init__(self, folder: Path) -> None:
        self.package = folder.name
        self.files = {_module_name(folder, path): path for path in sorted(folder.rglob("*.py"))}
        self.imports = [arrow for name in self.files for arrow in self._imports_of(name)]
        self._arrows_from: dict[str, list[Import]] = {}
        for arrow in self.imports:
            self._arrows_from.setdefault(arrow.source, []).append(arrow)

    def _imports_of(self, module: str) -> Iterator[Import]:
        path = self.files[module]
        parent = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _imported_names(node, parent):
                if target := self._resolve(name):
                    yield Import(module, target, getattr(node, "lineno", 0))

    def _resolve(self, name: str) -> str | None:
        """The module behind an imported name: `package.store.states.Status` lives in `package.store.states`."""
        top = name.partition(".")[0]
        if top != self.package:
            return None if top in sys.stdlib_module_names else top
        while name not in self.files and "." in name:
            name = name.rpartition(".")[0]
        return name

    def reach(self, start: str) -> dict[str, Import]:
        """Everything that loading a module may load in the end, each with the arrow that led there first."""
        found: dict[str, Import] = {}
        queue = deque([start])
        while queue:
            module = queue.popleft()
            for arrow in [*self._arrows_from.get(module, []), *self._parents(module)]:
                if arrow.target != start and arrow.target not in found:
                    found[arrow.target] = arrow
                    queue.append(arrow.target)
        return found

    def _parents(self, module: str) -> Iterator[Import]:
        """Loading `package.room.module` runs the `__init__` of the room first. The root's own is tested by itself."""
        room, _, rest = module.rpartition(".")
        if rest and room != self.package and room in self.files:
            yield Import(module, room, 0)


def complaints(plan: Plan, house: House) -> list[str]:
    """One sentence per broken rule, sorted; none when every arrow points down."""
    unknown = {room for module in plan.files if not _has_row(room := room_of(module, house), house)}
    found = {f"{house.package}/{room} is in no row of the table of rooms." for room in unknown}
    for arrow in plan.imports:
        if complaint := _complaint_about(arrow, house):
            found.add(f"{_place(arrow, plan)}: {complaint}")
    for module in plan.files:
        found.update(_forbidden_reach(module, plan, house))
    return sorted(found)


def room_of(module: str, house: House) -> str:
    """The room of a module of the package: its folder, "leaves", or its own name at the top of the package."""
    parts = module.split(".")
    if len(parts) == 1:
        return house.package
    return "leaves" if parts[1] in house.leaves else parts[1]


def _complaint_about(arrow: Import, house: House) -> str | None:
    source_room = room_of(arrow.source, house)
    if complaint := _guarded(arrow, house):
        return complaint
    if source_room in house.free or source_room not in house.rooms:
        return None
    row = house.rooms[source_room]
    if not _is_own(arrow.target, house):
        module = _short(arrow.source, house)
        own = [packages for name, packages in row.packages_of.items() if _is_listed(module, [name])]
        allowed = row.packages.union(*own)
        return None if arrow.target in allowed else f"{module} may not import the package {arrow.target}."
    target_room = room_of(arrow.target, house)
    if target_room in (source_room, "leaves") or _is_listed(_short(arrow.target, house), row.rooms):
        return None
    return f"{source_room} may not import {_short(arrow.target, house)}."


def _guarded(arrow: Import, house: House) -> str | None:
    target = _short(arrow.target, house) if _is_own(arrow.target, house) else arrow.target
    for guarded, readers in house.only_from.items():
        if _is_listed(target, {guarded}) and not _is_listed(_short(arrow.source, house), readers | {guarded}):
            return f"only {', '.join(sorted(readers))} may import {guarded}."
    return None


def _forbidden_reach(module: str, plan: Plan, house: House) -> Iterator[str]:
    room = room_of(module, house)
    if room not in house.rooms:
        return
    reached = plan.reach(module)
    for target in reached:
        name = _short(target, house) if _is_own(target, house) else target
        if _is_listed(name, house.rooms[room].never):
            chain = " -> ".join(_short(step, house) for step in _way(module, target, reached))
            yield f"{room} must never reach {name}, but {chain}."


def _way(start: str, target: str, reached: Mapping[str, Import]) -> list[str]:
    steps = [target]
    while steps[-1] != start:
        steps.append(reached[steps[-1]].source)
    return steps[::-1]


def _module_name(folder: Path, path: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_names(node: ast.AST, parent: str) -> Iterator[str]:
    """Full dotted names that a statement or call imports; `parent` is the package that relative imports start from."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = _absolute(module or "", parent, level)
            yield from (f"{base}.{alias.name}" for alias in names)
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if _is_importer(function):
            yield name


def _absolute(module: str, parent: str, level: int) -> str:
    if level == 0:
        return module
    kept = parent.split(".")[: len(parent.split(".")) - level + 1]
    return ".".join([*kept, module] if module else kept)


def _is_importer(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"):
            return True
    return False


def _is_own(module: str, house: House) -> bool:
    return module == house.package or module.startswith(f"{house.package}.")


def _short(module: str, house: House) -> str:
    return module.removeprefix(f"{house.package}.")


def _is_listed(name: str, names: Iterable[str]) -> bool:
    """Whether the name or something that contains it is listed: `store.states` is, where `store` is."""
    return any(name == listed or name.startswith(f"{listed}.") for listed in names)


def _has_row(room: str, house: House) -> bool:
    return room in house.rooms or room in house.free


def _place(arrow: Import, plan: Plan) -> str:
    path = plan.files[arrow.source]
    root = next(parent for parent in path.parents if parent.name == plan.package).parent
    return f"{path.relative_to(root)}:{arrow.line}"
