"""Each command says what malloc does not explain, and is not sure where that is most of the memory."""

import json
from pathlib import Path
from typing import Any

import pytest
from laboratory import called
from subprocesses import heaplab

from heaplab.report.words import beyond_malloc
from heaplab.results import store
from heaplab.results.records import Coverage

pytestmark = pytest.mark.starts_programs

MIB = 1 << 20
OWN = "its file has mimalloc under names of its own"


def compared(folder: Path, program: Path, kind: str) -> tuple[list[Coverage], str]:
    arms = ("--allocators", "glibc,scalloc", "--budget", "9s", "-o", "out", "--warm", "1B")
    done = called(folder, "compare", *arms, "--", program, kind)
    pilot = store.load(folder / "out").campaign.pilot
    assert pilot
    return pilot.coverage, " ".join(done.stdout.split())


def test_compare_learns_in_its_pilot_that_malloc_serves_next_to_nothing(
    tmp_path: Path, outside: Path
) -> None:
    [found], said = compared(tmp_path, outside, "own")
    assert found.memory > 38 * MIB
    assert found.mallocs == ["mimalloc"]
    assert "Not sure: malloc explains only" in said
    assert f"mapped by the program outside malloc; {OWN}" in said


def test_compare_is_silent_where_malloc_serves_the_program(tmp_path: Path, outside: Path) -> None:
    [found], said = compared(tmp_path, outside, "blocks")
    assert found.by_malloc > 40 * MIB
    assert "malloc explains" not in said


def test_advise_names_the_memory_and_is_sure_of_nothing_else(tmp_path: Path, outside: Path) -> None:
    found = advised(tmp_path, outside, "stacks")
    assert found["verdict"] == "outside malloc"
    assert found["sentence"].startswith("outside malloc: of the process itself at the end malloc explains ")
    assert not any(answer["sure"] for answer in found["also"])
    assert found["coverage"]["memory"] > 38 * MIB


@pytest.mark.parametrize("kind", ["blocks", "own"])
def test_advise_is_sure_where_malloc_serves_the_program(tmp_path: Path, outside: Path, kind: str) -> None:
    """Also one that is compiled in."""
    found = advised(tmp_path, outside, kind)
    assert found["sure"]
    assert "outside malloc" not in json.dumps(found)


def advised(folder: Path, program: Path, kind: str) -> dict[str, Any]:
    heaplab(folder, "record", "-o", "x.trace", "--", program, kind).check_returncode()
    done = called(folder, "advise", "x.trace", "--allocators", "glibc", "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_with_warns_of_what_the_file_tells(tmp_path: Path, outside: Path) -> None:
    done = heaplab(tmp_path, "with", "scalloc", "--", outside)
    assert done.returncode == 0
    assert done.stderr == f"heaplab: warning: outside: {OWN}; scalloc cannot serve what that does\n"
    assert heaplab(tmp_path, "with", "scalloc", "--", "true").stderr == ""


def process(**parts: int) -> Coverage:
    return Coverage(program="x", memory=sum(parts.values()) or 1, **parts)


@pytest.mark.parametrize(
    ("of", "matters", "mostly"),
    [
        (process(by_malloc=100 * MIB, mapped=9 * MIB), False, False),
        (process(by_malloc=100 * MIB, mapped=12 * MIB), True, False),
        (process(by_malloc=10 * MIB, mapped=9 * MIB), True, False),
        (process(by_malloc=10 * MIB, mapped=11 * MIB), True, True),
        (process(by_malloc=1, mapped=MIB - 1), False, False),
        (process(by_malloc=1, mapped=MIB), True, True),
    ],
)
def test_a_tenth_and_a_mebibyte_are_worth_a_word_and_less_than_half_is_not_sure(
    of: Coverage, matters: bool, mostly: bool
) -> None:
    assert (of.matters, of.is_most_beyond) == (matters, mostly)
    assert bool(beyond_malloc.sentences([of])) == matters
    assert bool(beyond_malloc.not_sure([of])) == mostly


def test_a_sentence_names_large_parts_and_what_would_tell() -> None:
    of = process(by_malloc=MIB, mapped=150 * MIB, stacks=120 * MIB, files=MIB)
    said = beyond_malloc.sentence(of)
    assert said.startswith(
        "malloc explains 1.00 MiB of the 272 MiB of x; 271 MiB no malloc library can change: "
    )
    assert (
        "150 MiB mapped by the program outside malloc, 120 MiB stacks of threads; its file names no" in said
    )
    assert "data of its files" not in said
    python = of.model_copy(update={"program": "python3.11"})
    assert beyond_malloc.sentence(python).endswith(
        "; PYTHONMALLOC=malloc gives Python's own arenas to malloc"
    )


def test_all_processes_not_seen_are_counted_and_some_are_named() -> None:
    every = [process(by_malloc=1).model_copy(update={"unseen": f"{n}: why"}) for n in range(5)]
    *named, rest = beyond_malloc.sentences(every)
    assert [line.partition(";")[0] for line in named] == ["0: why", "1: why", "2: why"]
    assert rest == "2 more processes of that kind"
