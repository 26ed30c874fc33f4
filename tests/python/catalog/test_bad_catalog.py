"""A faulty file of a catalog is named, with the key and what is allowed, before anything is listed or run."""

from pathlib import Path

import pytest
from conftest import EXPERIMENT, WORKLOAD_CARD
from laboratory import Laboratory, call, refusal
from subprocesses import written

ALLOCATOR = """
title = "x"
summary = "x"
licence = "x"
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ALLOCATOR, "sources: Field required"),
        (ALLOCATOR + "sources = []", "(file): takes one source or more"),
        (ALLOCATOR + 'colour = "red"\n[[sources]]\nkind = "system"', "colour: Unexpected"),
        (ALLOCATOR + 'quick = "maybe"\n[[sources]]\nkind = "system"', "quick: Input should"),
        (ALLOCATOR + '[[sources]]\nkind = "rpm"', "sources.0.kind: Input should be"),
        ("title = ", "not TOML"),
    ],
)
def test_a_faulty_file_of_the_catalog_is_named_with_its_key(
    tmp_path: Path, content: str, message: str
) -> None:
    written(tmp_path, {"allocators/x.toml": content})
    printed = refusal(call("--catalog", tmp_path, "show", "allocators"))
    assert printed.startswith(f"heaplab: {tmp_path}/allocators/x.toml: {message}")


@pytest.fixture
def own(tmp_path: Path) -> Laboratory:
    """A laboratory with a catalog of a workload alone."""
    catalog = written(tmp_path / "catalog", {"workloads/fake.toml": WORKLOAD_CARD})
    return Laboratory(catalog, {}, tmp_path / "out")


def derived(text: str) -> tuple[str, str]:
    """A text of the sound experiment, and its replacement with a table of derived parameters."""
    return "[quick]", f"[derived]\n{text}\n[quick]"


def of_length(text: str) -> tuple[str, str]:
    return "[quick]", f"[length]\n{text}\n\n[quick]"


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        (*derived("a = { of = 'b', times = 2 }\nb = { of = 'a', times = 2 }"), "derived.a.of: 'b' is"),
        (*derived("a = { of = 'a', times = 2 }"), "derived.a.of: 'a' is"),
        (*derived("a = { of = 'nothing', times = 2 }"), "derived.a.of: 'nothing' is"),
        (*derived("a = { of = 'size', times = nan }"), "derived.a.times: Input should be a finite"),
        (*of_length('parameter = "nothing"\nleast = 1'), "length.parameter: 'nothing' is no whole number"),
        (
            *of_length('parameter = "size"\nleast = 0'),
            "length.least: Input should be greater than or equal to 1",
        ),
        (
            "{ size = [1, 2] }",
            "{ size = [0] }\nderived.a = { of = 'size', share_of = 8 }",
            "derived: 8 cannot be divided by size",
        ),
        ("[1, 2]", "[]", "quick.sweep.size: takes one value or more, each once"),
        ("[1, 2]", "[1, 1]", "quick.sweep.size: takes one value or more, each once"),
        ("blocks = 5", "blocks = 0", "quick.blocks: Input should be greater than or equal to 1"),
        (
            "blocks_most = 5",
            "blocks_most = 1001",
            "quick.blocks_most: Input should be less than or equal to 1000",
        ),
    ],
)
@pytest.mark.parametrize("words", [["show", "experiments"], ["compare", "--experiment", "x"]], ids=" ".join)
def test_an_experiment_that_cannot_be_run_is_not_offered(
    own: Laboratory, words: list[str], there: str, instead: str, message: str
) -> None:
    assert there in EXPERIMENT
    written(own.catalog, {"experiments/x.toml": EXPERIMENT.replace(there, instead, 1)})
    printed = refusal(own.heaplab(*words))
    assert printed.startswith(f"heaplab: {own.catalog}/experiments/x.toml: ")
    assert message in printed


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ("timeout_s = 20", "timeout_s = nan", "timeout_s: Input should be a finite number"),
        ("timeout_s = 20", "timeout_s = -1", "timeout_s: Input should be greater than 0"),
        ("timeout_s = 20", "memory_mib = -1", "memory_mib: Input should be greater than or equal to 0"),
    ],
)
def test_a_workload_with_an_impossible_number_is_refused(
    own: Laboratory, there: str, instead: str, message: str
) -> None:
    path = own.catalog / "workloads" / "fake.toml"
    path.write_text(WORKLOAD_CARD.replace(there, instead))
    assert own.heaplab("show", "workloads") == (2, f"heaplab: {path}: {message}\n")


OF_ODD_ASPECT = EXPERIMENT.replace('workload = "fake"', 'workload = "fake"\naspect = "odd"', 1)
ASPECT = '[odd]\ntitle = "x"\nquestion = "x"\nwhere = "x"\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ASPECT, ""),
        (ASPECT + 'measure = "luck"', "odd.measure: Input should be 'time' or 'memory'"),
        (ASPECT.replace("question", "answer"), "odd.question: Field required"),
        ("odd = 1", "odd: takes a table, [odd]"),
        ("odd = ", "not TOML: "),
    ],
)
def test_a_faulty_aspect_is_named_with_its_key(own: Laboratory, content: str, message: str) -> None:
    written(own.catalog, {"aspects.toml": content, "experiments/x.toml": OF_ODD_ASPECT})
    done = own.heaplab("compare", "--experiment", "x", "--show-command")
    if message:
        assert refusal(done).startswith(f"heaplab: {own.catalog}/aspects.toml: {message}")
    else:
        assert "no aspect" not in done[1]


def test_an_aspect_there_is_not_is_named(own: Laboratory) -> None:
    written(own.catalog, {"experiments/x.toml": OF_ODD_ASPECT})
    printed = refusal(own.heaplab("compare", "--experiment", "x"))
    assert printed.startswith("heaplab: experiment x: no aspect 'odd'; known: local, remote, ")
