#!/usr/bin/env python3
"""Fail on every include or import that LAYERS.md does not allow.

Exit status 0: none found, 1: some found, 2: LAYERS.md unusable. Example: tools/check_layers.py
"""

import argparse
import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<((?:heaplab)/[^>]+)>)')
ROW = re.compile(r"^\|\s*`([^`]+)`\s*\|(.*)\|\s*$")
CPP, PYTHON, ROOMS = "C++", "Python", "Inside a Python room"
CPP_SUFFIXES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp"}


@dataclass(frozen=True)
class Rule:
    """One row of a table: what `part` may use."""

    part: str
    allowed: tuple[str, ...]

    def match(self, path: str) -> str | None:
        """Return what the `*` of the part stands for in `path` ("" where it has none), or None."""
        pattern = re.escape(self.part).replace(r"\*", "([^/]+)") + r"(?:/|$)"
        found = re.match(pattern, path)
        if not found:
            return None
        return found.group(1) if found.groups() else ""


def read_tables(layers: Path) -> dict[str, list[Rule]]:
    """Return the rows of the three tables, by the heading each stands under."""
    tables: dict[str, list[Rule]] = {CPP: [], PYTHON: [], ROOMS: []}
    heading = ""
    for line in layers.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
        elif (row := ROW.match(line)) and heading in tables:
            tables[heading].append(Rule(row[1], tuple(re.findall(r"`([^`]+)`", row[2]))))
    if absent := [name for name, rows in tables.items() if not rows]:
        print(f"{layers}: no table under the heading {absent[0]!r}", file=sys.stderr)
        sys.exit(2)
    return tables


def covers(part: str, path: str) -> bool:
    return path == part or path.startswith(part + "/")


def allows(rules: list[Rule], user: str, used: str) -> bool:
    """Whether the most specific rule for `user` lets it use `used` (both relative paths)."""
    matching = [(len(rule.part), rule, name) for rule in rules if (name := rule.match(user)) is not None]
    if not matching:
        return False
    _, rule, name = max(matching, key=lambda entry: entry[0])
    parts = (rule.part, *rule.allowed)
    return any(covers(part.replace("*", name), used) for part in parts)


def resolve_include(root: Path, source: Path, name: str) -> str | None:
    """Return the project path an include names, or None if it is not the project's."""
    for base in (source.parent, root / "src", root / "include"):
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def check_order(layers: str, rules: list[Rule]) -> list[str]:
    """Return a fault for every row that names a part of its own row or of one below: arrows point upward."""
    faults = []
    for index, rule in enumerate(rules):
        above = [other.part for other in rules[:index]]
        faults += [
            f"{layers}: `{rule.part}` names `{name}`, which is no part of a row above"
            for name in rule.allowed
            if not any(covers(part, name) for part in above)
        ]
    return faults


def cpp_sources(root: Path) -> list[Path]:
    """Return the C and C++ files that follow the rules of shipped code."""
    files = [p for top in ("src", "include") for p in (root / top).rglob("*")]
    return sorted(p for p in files if p.suffix in CPP_SUFFIXES)


def check_cpp(root: Path, rules: list[Rule]) -> list[str]:
    faults = []
    for source in cpp_sources(root):
        user = source.relative_to(root).as_posix()
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if not (found := INCLUDE.match(line)):
                continue
            used = resolve_include(root, source, found[1] or found[2])
            if used is None and found[1]:
                faults.append(f'{user}:{number}: "{found[1]}" is no file of this project; use <> for others')
            elif used and not allows(rules, user, used):
                faults.append(f"{user}:{number}: LAYERS.md has no arrow to {used}")
    return faults


def imported_modules(tree: ast.AST, package: Path) -> list[tuple[int, str]]:
    """Return (line, "room" or "room/module") for every import of heaplab's own modules."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            room, *inner = name.split(".")[1:3] if name.startswith("heaplab.") else [""]
            if inner and (package / room / f"{inner[0]}.py").is_file():
                found.append((node.lineno, f"{room}/{inner[0]}"))
            elif room and not room.startswith("__"):
                found.append((node.lineno, room))
    return found


def comes_before(order: dict[str, tuple[str, ...]], user: str, used: str) -> bool:
    """Whether the order inside a room lets module `user` import `used`, both written "room/module"."""
    room, _, module = user.partition("/")
    other = used.partition("/")[2]
    modules = order.get(room, ())
    return module in modules and other in modules[: modules.index(module)]


def check_python(root: Path, rules: list[Rule], rooms: list[Rule]) -> list[str]:
    faults = []
    package = root / "python" / "heaplab"
    order = {room.part: room.allowed for room in rooms}
    for source in sorted(package.rglob("*.py")):
        user = source.relative_to(package).with_suffix("").as_posix()
        if user in ("__init__", "__main__"):
            continue
        tree = ast.parse(source.read_text(), str(source))
        where = source.relative_to(root).as_posix()
        if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
            faults.append(f"{where}: relative import; name the module in full")
        room, _, module = user.partition("/")
        if module and module not in ("__init__", *order.get(room, ())):
            faults.append(f"{where}: LAYERS.md does not name this module in its room")
        for line, used in imported_modules(tree, package):
            inside = used.partition("/")[0] == room and module != "__init__"
            if not (comes_before(order, user, used) if inside else allows(rules, user, used)):
                faults.append(f"{where}:{line}: LAYERS.md has no arrow from {user} to {used}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=here, help="of the sources")
    root = parser.parse_args().root.resolve()
    layers = root / "LAYERS.md"
    if not layers.is_file():
        print(f"{layers}: no such file", file=sys.stderr)
        return 2
    tables = read_tables(layers)
    faults = [fault for name in (CPP, PYTHON) for fault in check_order(layers.name, tables[name])]
    faults += check_cpp(root, tables[CPP])
    faults += check_python(root, tables[PYTHON], tables[ROOMS])
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
