"""tests/README.md leads from every folder and unit to its tests; every test bears the name of its folder."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests"
MAP = (TESTS / "README.md").read_text()
SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def rows(heading: str) -> list[tuple[list[str], list[str]]]:
    """Return what the first two cells name in every row of the table under `heading`."""
    section = MAP.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\|([^|]*)\|([^|]*)\|", section, flags=re.MULTILINE)[2:]
    return [(named(first), named(second)) for first, second in cells]


def units() -> set[str]:
    """Return every header and source of src and include without its suffix."""
    files = [p for top in ("src", "include") for p in (ROOT / top).rglob("*") if p.suffix in (".h", ".cpp")]
    return {p.relative_to(ROOT).with_suffix("").as_posix() for p in files}


def has_test_of_its_name(unit: str) -> bool:
    part, _, stem = unit.rpartition("/")
    folders = [
        folder
        for [folder], tested in rows("Folders")
        if any(part == unit or part.startswith(f"{unit}/") for unit in tested)
    ]
    return any((TESTS / folder / f"{stem}_test.cpp").is_file() for folder in folders)


def test_the_map_names_every_folder() -> None:
    folders = {p.name for p in TESTS.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert sorted(folder for [folder], _ in rows("Folders")) == sorted(folders)


def test_python_folders_mirror_the_rooms_and_the_map_names_them() -> None:
    rooms = {path.parent.name for path in (ROOT / "python/heaplab").glob("*/__init__.py")}
    folders = {path.parent.name for path in TESTS.glob("python/*/*.py")}
    assert folders == rooms | {"project", "support"}
    assert sorted(folder for [folder], _ in rows("Python folders")) == sorted(folders)


def test_python_tests_bear_one_name_each() -> None:
    """Pytest imports files by their bare names."""
    names = [path.name for path in TESTS.glob("python/**/*.py")]
    assert len(names) == len(set(names))


def test_the_map_names_parts_that_exist() -> None:
    for _, tested in rows("Folders"):
        assert [part for part in tested if not (ROOT / part).is_dir()] == []


def test_every_unit_has_a_test_of_its_name_or_a_row() -> None:
    elsewhere = {unit for units_of_row, _ in rows("From a unit to its test") for unit in units_of_row}
    without = {unit for unit in units() if not has_test_of_its_name(unit)}
    of_named_folders = {unit for unit in without if f"{unit.rpartition('/')[0]}/*" in elsewhere}
    assert without - of_named_folders == {unit for unit in elsewhere if not unit.endswith("/*")}


def test_the_map_names_tests_that_exist() -> None:
    for _, tests in rows("From a unit to its test"):
        assert [test for test in tests if not (TESTS / test).exists()] == []


def test_every_test_is_added_with_its_folder_as_name_and_label() -> None:
    direct = re.compile(r"^\s*(add_test|gtest_discover_tests)\(", re.MULTILINE)
    assert [folder for folder in TESTS.glob("*/CMakeLists.txt") if direct.search(folder.read_text())] == []


def suites_and_tests(source: Path) -> list[tuple[str, str, str]]:
    """Return kind ("" for plain ones), suite and name of every test in a source."""
    macro = re.compile(r"^(TYPED_)?TEST(_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
    return [(typed or kind, suite, name) for typed, kind, suite, name in macro.findall(source.read_text())]


def test_suites_and_tests_are_named_in_one_style() -> None:
    for source in TESTS.glob("*/*.cpp"):
        names = [word for _, *words in suites_and_tests(source) for word in words]
        assert [name for name in names if not SNAKE_CASE.fullmatch(name)] == [], source


def stem_that_names(suite: str, folder: Path) -> str:
    """Return the longest stem of a test file of `folder` with which the suite's name begins."""
    stems = [path.name.removesuffix("_test.cpp") for path in folder.glob("*_test.cpp")]
    return max((stem for stem in stems if f"{suite}_".startswith(f"{stem}_")), key=len, default="")


def test_a_suite_bears_the_name_of_its_file() -> None:
    """Of a fixture, which is a class, words may follow: a file may need several."""
    for source in TESTS.glob("*/*.cpp"):
        stem = source.name.removesuffix("_test.cpp")
        wrong = [
            f"{suite}.{name}"
            for kind, suite, name in suites_and_tests(source)
            if (suite != stem if kind == "" else stem_that_names(suite, source.parent) != stem)
        ]
        assert wrong == [], source
