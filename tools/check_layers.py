#!/usr/bin/env python3
"""Fail on every include of C++ that LAYERS.md does not allow.

Exit status 0: none found, 1: some found, 2: LAYERS.md unusable. Example: tools/check_layers.py
"""

import re
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<((?:heaplab)/[^>]+)>)')
ITEM = re.compile(r"^\d+\. `([^`]+)`(.*)$")
NAME = re.compile(r"`([^`]+)`")
HEADING = "## C++"
CPP_SUFFIXES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp"}


@dataclass(frozen=True)
class Rule:
    """One item of a list: what `part` may use."""

    part: str
    allowed: tuple[str, ...]

    def match(self, path: str) -> str | None:
        """Return what the `*` of the part stands for in `path` ("" where it has none), or None."""
        pattern = re.escape(self.part).replace(r"\*", "([^/]+)") + r"(?:/|$)"
        matched = re.match(pattern, path)
        if not matched:
            return None
        return matched.group(1) if matched.groups() else ""


def read_lists(layers: Path) -> list[Rule]:
    """Return the items of the lists under HEADING."""
    rules: list[Rule] = []
    heading = ""
    shared: list[str] = []  # what the heading of a list names: each of its items may use that
    for line in layers.read_text().splitlines():
        if line.startswith("## "):
            heading = line.strip()
        elif line.startswith("### "):
            shared = NAME.findall(line)
        elif heading == HEADING and (item := ITEM.match(line)):
            named = [in_full(name, item[1]) for name in NAME.findall(item[2])]
            rules.append(Rule(item[1], (*shared, *named)))
    if not rules:
        print(f"{layers}: no list under the heading {HEADING!r}", file=sys.stderr)
        sys.exit(2)
    return rules


def in_full(name: str, part: str) -> str:
    """A short name stands for the folder beside the part."""
    return name if "/" in name else f"{part.rpartition('/')[0]}/{name}"


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
    """Return a fault for every item that names itself or an item below: arrows point upward."""
    faults = []
    for index, rule in enumerate(rules):
        above = [other.part for other in rules[:index]]
        faults += [
            f"{layers}: `{rule.part}` names `{name}`, which is no part of an item above"
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
            if not (named := INCLUDE.match(line)):
                continue
            used = resolve_include(root, source, named[1] or named[2])
            if used is None and named[1]:
                faults.append(f'{user}:{number}: "{named[1]}" is no file of this project; use <> for others')
            elif used and not allows(rules, user, used):
                faults.append(f"{user}:{number}: LAYERS.md has no arrow to {used}")
    return faults


def main() -> int | str:
    """Return what sys.exit takes: a status, or the faults, which it prints and ends with status 1."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    here = Path(__file__).parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=here, help="of the sources")
    root = parser.parse_args().root.resolve()
    layers = root / "LAYERS.md"
    if not layers.is_file():
        print(f"{layers}: no such file", file=sys.stderr)
        return 2
    rules = read_lists(layers)
    faults = check_order(layers.name, rules) + check_cpp(root, rules)
    return "\n".join(faults) or 0


if __name__ == "__main__":
    sys.exit(main())
