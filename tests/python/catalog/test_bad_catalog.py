"""A faulty file of a catalog is named, with the key and what is allowed, before anything is listed or run."""

from pathlib import Path

import pytest
from conftest import EXPERIMENT, WORKLOAD_CARD
from laboratory import Laboratory, refusal

ALLOCATOR = """
title = "x"
summary = "x"
licence = "x"
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ALLOCATOR, "sources: Field required"),
        (ALLOCATOR + "sources = []", "sources: List should have at least 1 item"),
        (
            ALLOCATOR + 'colour = "red"\n[[sources]]\nkind = "system"',
            "colour: Extra",
        ),
        (
            ALLOCATOR + 'quick = "maybe"\n[[sources]]\nkind = "system"',
            "quick: Input should",
        ),
        (ALLOCATOR + '[[sources]]\nkind = "rpm"', "sources.0.kind: Input should be"),
        ("title = ", "not TOML"),
    ],
)
def test_a_faulty_file_of_the_catalog_is_named_with_its_key(
    tmp_path: Path,
    content: str,
    message: str,
) -> None:
    lab = Laboratory(tmp_path, {}, tmp_path / "out")
    path = lab.catalog / "allocators" / "x.toml"
    path.parent.mkdir()
    path.write_text(content)
    printed = refusal(lab.heaplab("list", "allocators"))
    assert printed.startswith(f"heaplab: {path}: {message}")


@pytest.fixture
def own(tmp_path: Path) -> Laboratory:
    """A laboratory with a catalog of a workload alone."""
    lab = Laboratory(tmp_path / "catalog", {}, tmp_path / "out")
    for kind in ("workloads", "experiments"):
        (lab.catalog / kind).mkdir(parents=True)
    (lab.catalog / "workloads" / "fake.toml").write_text(WORKLOAD_CARD)
    return lab


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        (
            "[quick]",
            "[derived]\na = { of = 'b', times = 2 }\nb = { of = 'a', times = 2 }\n[quick]",
            "derived.a.of: 'b' is",
        ),
        ("[quick]", "[derived]\na = { of = 'a', times = 2 }\n[quick]", "derived.a.of: 'a' is"),
        ("[quick]", "[derived]\na = { of = 'nothing', times = 2 }\n[quick]", "derived.a.of: 'nothing' is"),
        (
            "[quick]",
            "[derived]\na = { of = 'size', times = nan }\n[quick]",
            "derived.a.times: Input should be a finite",
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
@pytest.mark.parametrize("words", [["list", "experiments"], ["run", "x"]], ids=" ".join)
def test_an_experiment_that_cannot_be_run_is_not_offered(
    own: Laboratory, words: list[str], written: str, instead: str, message: str
) -> None:
    path = own.catalog / "experiments" / "x.toml"
    assert written in EXPERIMENT
    path.write_text(EXPERIMENT.replace(written, instead, 1))
    printed = refusal(own.heaplab(*words))
    assert printed.startswith(f"heaplab: {path}: ")
    assert message in printed


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("timeout_s = 20", "timeout_s = nan", "timeout_s: Input should be a finite number"),
        ("timeout_s = 20", "timeout_s = -1", "timeout_s: Input should be greater than 0"),
        ("timeout_s = 20", "memory_mib = -1", "memory_mib: Input should be greater than or equal to 0"),
    ],
)
def test_a_workload_with_an_impossible_number_is_refused(
    own: Laboratory, written: str, instead: str, message: str
) -> None:
    path = own.catalog / "workloads" / "fake.toml"
    path.write_text(WORKLOAD_CARD.replace(written, instead))
    assert own.heaplab("list", "workloads") == (2, f"heaplab: {path}: {message}\n")


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
    path = own.catalog / "aspects.toml"
    path.write_text(content)
    experiment = EXPERIMENT.replace('workload = "fake"', 'workload = "fake"\naspect = "odd"', 1)
    assert experiment != EXPERIMENT
    (own.catalog / "experiments" / "x.toml").write_text(experiment)
    status, printed = own.heaplab("run", "x", "--show-command")
    if message:
        assert (status, len(printed.splitlines())) == (2, 1), printed
        assert printed.startswith(f"heaplab: {path}: {message}")
    else:
        assert "no aspect" not in printed


def test_an_aspect_there_is_not_is_named(own: Laboratory) -> None:
    experiment = EXPERIMENT.replace('workload = "fake"', 'workload = "fake"\naspect = "odd"', 1)
    (own.catalog / "experiments" / "x.toml").write_text(experiment)
    printed = refusal(own.heaplab("run", "x"))
    assert printed.startswith("heaplab: experiment x: no aspect 'odd'; known: local, remote, ")


@pytest.mark.parametrize(
    ("length", "message"),
    [
        ('parameter = "nothing"\nleast = 1', "length.parameter: 'nothing' is no whole number"),
        ('parameter = "size"\nleast = 0', "length.least: Input should be greater than or equal to 1"),
    ],
)
def test_an_impossible_length_is_refused(own: Laboratory, length: str, message: str) -> None:
    path = own.catalog / "experiments" / "x.toml"
    path.write_text(EXPERIMENT.replace("[quick]", f"[length]\n{length}\n\n[quick]", 1))
    printed = refusal(own.heaplab("run", "x"))
    assert printed.startswith(f"heaplab: {path}: ")
    assert message in printed
