"""One name stands for one thing: no two classes and no two modules of the front end share one."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "python" / "heaplab"


def modules() -> Iterator[tuple[str, str]]:
    """The name of every module and room, with the place of its file."""
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
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
