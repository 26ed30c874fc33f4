"""Two recordings compared by call site: what changed, and what is noise."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from laboratory import called
from rich.console import Console
from traces import profile_of, two_threads, write_trace

from heaplab.traces.profile import Profile, Site
from heaplab.traces.symbols import Place
from heaplab.tracing import trace_changes, trace_terminal

BLOCKS = 10


@pytest.fixture
def empty(tmp_path: Path) -> Profile:
    return profile_of(tmp_path / "x.trace", two_threads())


def profile(empty: Profile, base: int, *callers: tuple[str, int]) -> Profile:
    """A site of ten blocks for each caller and its bytes, called from `main`; code lies from `base` on."""
    places = {base: Place("main", "a.c", base)} | {
        base + at: Place(name, "a.c", base + at) for at, (name, _) in enumerate(callers, 1)
    }
    stacks = [[base + at, base] for at in range(1, len(callers) + 1)]
    sites = [
        Site(at, in_bytes, BLOCKS, in_bytes, BLOCKS, 0, 0, 0, 0, 0, 0, 0, 0)
        for at, (_, in_bytes) in enumerate(callers, 1)
    ]
    return replace(empty, sites=sites, stacks=stacks, places=places)


def found(changes: trace_changes.Changes) -> list[tuple[str, int, int]]:
    return [(change.caller[0], change.old.bytes, change.new.bytes) for change in changes.beyond_noise]


def test_callers_are_known_by_their_functions_wherever_their_code_lies(empty: Profile) -> None:
    old = profile(empty, 100, ("parse", 50), ("parse", 20), ("cache", 300), ("gone", 10))
    new = profile(empty, 9000, ("fresh", 40), ("cache", 300), ("parse", 200))
    changes = trace_changes.changes(old, new, [])
    assert found(changes) == [("parse", 70, 200), ("fresh", 0, 40), ("gone", 10, 0)]
    assert changes.sentence == "Call sites: 1 changed, 1 new, 1 gone; 1 as before."
    assert "--again" in changes.noise


@pytest.mark.parametrize(
    ("new", "again", "is_noise"),
    [
        (103, [], False),
        (103, [100], False),  # the program repeats itself to the byte
        (103, [106], True),
        (300, [106], True),  # two recordings tell too little
        (300, [106, 97, 103, 99], False),
        (112, [106, 97, 103, 99], True),
    ],
)
def test_noise_is_what_one_more_recording_of_the_same_may_have(
    empty: Profile, new: int, again: Sequence[int], is_noise: bool
) -> None:
    old = profile(empty, 100, ("parse", 100))
    repeats = [profile(empty, 200, ("parse", each)) for each in again]
    changes = trace_changes.changes(old, profile(empty, 300, ("parse", new)), repeats)
    assert (changes.noisy, len(changes.beyond_noise)) == (int(is_noise), int(not is_noise))


def test_callers_are_told_without_wrappers(empty: Profile) -> None:
    """Of one allocation by malloc and one by strdup, both called by the same function, the sum."""
    within = [("malloc", 50), ("strdup", 20)]
    old = profile(empty, 100, *within)
    caller = {99: Place("parse", "a.c", 99)}
    old = replace(old, stacks=[[101, 99, 100], [102, 99, 100]], places=old.places | caller)
    [(known, amounts)] = trace_changes.by_caller(old).items()
    assert (known, amounts.bytes) == (("parse", "main"), 70)


def test_the_terminal_shows_what_changed(empty: Profile) -> None:
    old = profile(empty, 100, ("parse", 1024), ("cache", 300))
    new = profile(empty, 200, ("parse", 4096), ("cache", 310))
    shown = Console(width=120, record=True, file=io.StringIO())
    again = [profile(empty, 200, ("parse", 1024), ("cache", 320))]
    trace_terminal.print_changes(trace_changes.changes(old, new, again), shown)
    lines = shown.export_text().splitlines()
    assert lines[0] == "Call sites: 1 changed, 0 new, 0 gone; 0 as before."
    assert any(line.startswith("parse < main") and "1.00 KiB → 4.00 KiB" in line for line in lines)
    assert any(line.startswith("Noise") and "1 call site left out" in line for line in lines)
    assert "cache" not in "".join(lines)


def test_the_command_compares_two_traces(tmp_path: Path) -> None:
    for name, rounds in (("old", 500), ("new", 400)):
        write_trace(tmp_path / f"{name}.trace", two_threads(rounds))
    done = called(tmp_path, "trace", "old.trace", "new.trace")
    assert (done.returncode, "in 500 → 400 blocks." in done.stdout) == (0, True), done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["old.trace", "new.trace", "-o", "x.html"], "-o goes with one trace"),
        (
            ["old.trace", "--again", "old.trace"],
            "--again goes with two traces: heaplab trace OLD NEW --again OLD2",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    done = called(tmp_path, "trace", *words)
    assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True), done
