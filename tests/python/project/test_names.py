"""One name stands for one thing: no two classes and no two modules of the front end share one.

And a name says what it holds: in C++ nothing is called `it`, in C++ and Python nothing `one`, and in the
front end and the tools nothing `found`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "python" / "heaplab"
COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])'", re.DOTALL
)
IT = re.compile(r"\bit_?\b")
ONE = re.compile(r"\bone_?\b")


def modules() -> Iterator[tuple[str, str]]:
    """The name of every module and room, with the place of its file.

    A file of `commands` bears the name of its command, and so may the room that does the command's work.
    """
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
        if place.parts[0] == "commands":
            continue
        if place.name != "__init__.py":
            yield path.stem, str(place)
        elif place.parent.name:
            yield place.parent.name, str(place)


def classes() -> Iterator[tuple[str, str]]:
    """The name of every class, with the place of its definition."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield node.name, f"{path.relative_to(PACKAGE)}:{node.lineno}"


def shared(names: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that stand for more than one thing, with all places."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in names:
        places[name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_modules_have_one_name() -> None:
    assert shared(modules()) == {}


def test_no_two_classes_have_one_name() -> None:
    assert shared(classes()) == {}


def test_a_class_does_not_differ_from_another_in_the_plural_alone() -> None:
    names = {name for name, _ in classes()}
    assert {name for name in names if name + "s" in names} == set()


def cpp_files() -> Iterator[Path]:
    for folder in ("include", "packaging", "research", "src", "tests"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in {".c", ".cpp", ".h"})


def lines_with(name: re.Pattern[str], text: str) -> list[int]:
    """The lines of C++ that have the name outside of comments and literals."""
    code = COMMENT_OR_LITERAL.sub(lambda match: "\n" * match[0].count("\n"), text)
    return [number for number, line in enumerate(code.splitlines(), 1) if name.search(line)]


def cpp_with(name: re.Pattern[str]) -> list[str]:
    """The places of C++ that have the name."""
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for path in cpp_files()
        for line in lines_with(name, path.read_text())
    ]


def test_no_name_of_cpp_is_a_pronoun() -> None:
    assert cpp_with(IT) == cpp_with(ONE) == []


@pytest.mark.parametrize(
    "line",
    [
        "span_type& it = span_of(block);",
        "void release(span_type& it, void* block);",
        "for (const auto& it : spans) visit(it.base);",
        "lab_type* const it_;",
        'auto it = places.find("//");',
        "if (text[0] == '\"') it = 0;  // \"",
        '#define VISIT(it) visit(*it, R"(")")',
    ],
)
def test_a_pronoun_as_a_name_is_found(line: str) -> None:
    assert lines_with(IT, f"/* The\n first */\n{line}\n") == [3]
    assert lines_with(ONE, re.sub(r"\bit(?=_?\b)", "one", line)) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "int item = bit_of(limit);",
        "// Whoever frees it calls `it`.",
        "/* Whoever\n frees it */ int live;",
        'fatal("it is no live block");',
        'R"(it is\n said: "it")"',
        'if (text[0] == \'"\') fatal("it is quoted");',
    ],
)
def test_a_pronoun_in_prose_passes(line: str) -> None:
    assert lines_with(IT, line) == []


def bound(source: str) -> Iterator[tuple[int, str]]:
    """The names that Python code gives to values, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def test_no_name_of_python_is_a_pronoun() -> None:
    folders = [ROOT / folder for folder in ("packaging", "python", "research", "tests", "tools")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(files) > 400
    assert places_that_bind("one", files) == []


def test_front_end_and_tools_name_a_value_by_what_it_is() -> None:
    folders = [PACKAGE, ROOT / "research", ROOT / "tools"]
    assert places_that_bind("found", [path for folder in folders for path in folder.rglob("*.py")]) == []


def places_that_bind(sought: str, files: Iterable[Path]) -> list[str]:
    bindings = ((path, line, name) for path in files for line, name in bound(path.read_text()))
    return [f"{path.relative_to(ROOT)}:{line}" for path, line, name in bindings if name == sought]


def test_every_way_to_name_a_value_is_seen() -> None:
    ways = "a = 1\nfor b in c: pass\nlambda d: d\ndef e(f, *g): pass\n[h for h in i]\nif j := k: pass\n"
    assert [name for _, name in sorted(bound(ways))] == ["a", "b", "d", "f", "g", "h", "j"]
