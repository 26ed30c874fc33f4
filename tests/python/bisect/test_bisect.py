"""`heaplab bisect`: its search over made-up histories, and bisections of a planted repository.

What is planted is instructions, which callgrind counts, and builds that fail: no time decides.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from laboratory import WARM, call, failure, refusal, success
from subprocesses import executable, git

from heaplab.bisect.commit_search import UNDECIDED_MOST, State, search, search_all

W, N, T, U = State.WORSE, State.NOT_WORSE, State.COULD_NOT_TELL, State.UNUSABLE

# ---------------------------------------------------------------- the search


@dataclass
class History:
    """What each commit is, OLD first, and the places that were looked at."""

    states: list[State]

    def __post_init__(self) -> None:
        self.looked_at: list[int] = []

    def __call__(self, place: int) -> State:
        self.looked_at.append(place)
        return self.states[place]

    def found(self) -> tuple[int, int]:
        return search(len(self.states) - 1, self)


@settings(deadline=None)
@given(st.integers(1, 300), st.data())
def test_the_first_that_is_worse_is_found_in_as_many_steps_as_halvings(
    last: int, data: st.DataObject
) -> None:
    worse = data.draw(st.integers(1, last))
    history = History([N] * worse + [W] * (last + 1 - worse))
    assert history.found() == (worse - 1, worse)
    assert len(history.looked_at) <= last.bit_length()


@settings(deadline=None)
@given(st.integers(1, 60), st.data())
def test_blank_commits_only_widen_the_answer(last: int, data: st.DataObject) -> None:
    worse = data.draw(st.integers(1, last))
    states = [N] * worse + [W] * (last + 1 - worse)
    for place in data.draw(st.sets(st.integers(1, max(1, last - 1)), max_size=last)):
        if 0 < place < last:
            states[place] = U
    history = History(states)
    good, bad = history.found()
    assert good < worse <= bad or states[worse] is U
    assert states[good] is N
    assert states[bad] is W
    assert all(state is U for state in states[good + 1 : bad])
    assert len(history.looked_at) == len(set(history.looked_at))


def test_a_run_of_blank_commits_is_left_not_walked() -> None:
    history = History([N] * 20 + [U] * 20 + [N] * 59 + [W] * 2)
    assert history.found() == (98, 99)
    assert len([place for place in history.looked_at if history.states[place] is U]) <= 1


def test_many_that_could_not_be_told_end_the_search() -> None:
    history = History([N, *[T] * 100, W])
    assert history.found() == (0, 101)
    assert len(history.looked_at) == UNDECIDED_MOST


@settings(deadline=None)
@given(st.integers(1, 200), st.data())
def test_every_step_is_found_though_others_are_as_large_and_some_do_not_build(
    last: int, data: st.DataObject
) -> None:
    places = st.sets(st.integers(1, last), min_size=1, max_size=5)
    slow = data.draw(places)
    blank = data.draw(places) - {last}
    looked_at: list[tuple[int, int]] = []

    def state_of(good: int, bad: int) -> State:
        looked_at.append((good, bad))
        return U if bad in blank else W if slow & set(range(good + 1, bad + 1)) else N

    found = search_all(last, state_of)
    assert not found.untold
    for good, bad in found.worse:
        assert slow & set(range(good + 1, bad + 1))
        assert blank.issuperset(range(good + 1, bad))
    assert all(any(good < place <= bad for good, bad in found.worse) for place in slow)
    assert len(looked_at) == len(set(looked_at))


def test_a_half_that_could_not_be_told_is_named_and_the_other_is_searched() -> None:
    states = {(0, 2): W, (2, 4): T, (0, 1): N, (1, 2): W}
    found = search_all(4, lambda good, bad: states[good, bad])
    assert (found.worse, found.untold) == ([(1, 2)], [(2, 4)])


# ---------------------------------------------------------------- whole bisections

MAKEFILE = "all:\n\tcc -o tool tool.c\n\tcc -shared -fPIC -fno-builtin-malloc -o libmine.so mine.c\n"
# Both work as many rounds as the commit says.
TOOL = """
int main(void) {{
  for (volatile int round = 0; round < {rounds}; ++round) {{}}
  return 0;
}}
"""
MINE = """
#include <stddef.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
void* malloc(size_t size) {{
  for (volatile int round = 0; round < {rounds} / 100; ++round) {{}}
  return __libc_malloc(size);
}}
void free(void* block) {{ __libc_free(block); }}
"""
COUNTING = ["--instructions", "only-callgrind", "--max-instructions", "20%", "--budget", "10m", *WARM]
LITTLE, MUCH = 100_000, 200_000
TOOL_OF_COMMIT = ["--", "./tool"]
LIBRARY_OF_COMMIT = ["--library", "libmine.so", "--", "ls", "-d", "/"]


@dataclass
class Planted:
    """A repository of the user's, and bisections of it."""

    place: Path

    def git(self, *words: str) -> str:
        return git(self.place, *words)

    def commit(self, *history: int | None) -> None:
        """A commit for each: its rounds, or None for one that does not build. The first is v1."""
        for number, rounds in enumerate(history):
            fault = "not C" if rounds is None else ""
            (self.place / "Makefile").write_text(MAKEFILE)
            (self.place / "tool.c").write_text(f"{TOOL.format(rounds=rounds or 1)}/* {number} */\n{fault}\n")
            (self.place / "mine.c").write_text(MINE.format(rounds=rounds or 1))
            self.git("add", "-A")
            self.git("commit", "-qm", f"change {number}")
            if number == 0:
                self.git("tag", "v1")

    def state(self) -> tuple[str, str]:
        """What a user sees of the working tree."""
        return self.git("status", "--branch", "--porcelain=v2"), self.git("stash", "list")

    def bisect(self, *words: str, commits: str = "v1..HEAD", build: str = "make") -> tuple[int, str]:
        return call("bisect", commits, "--repository", self.place, "--build", build, *COUNTING, *words)


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEAPLAB_CACHE", str(tmp_path / "cache"))
    found = Planted(tmp_path / "repository")
    found.place.mkdir()
    found.git("init", "-q")
    return found


@pytest.mark.long
def test_a_program_the_first_commit_that_is_worse_is_named_past_one_that_does_not_build(
    planted: Planted,
) -> None:
    planted.commit(LITTLE, LITTLE, None, LITTLE, MUCH, MUCH)
    before = planted.state()
    printed = success(planted.bisect("--json", *TOOL_OF_COMMIT))
    told = json.loads(printed.splitlines()[-1])
    assert told["first_worse"]["subject"] == "change 4"
    assert told["last_not_worse"]["subject"] == "change 3"
    (cell,) = told["steps"][0]["cells"]
    assert cell["measure"] == "instructions"
    assert 0.99 < cell["share"] < 1.01
    assert 1.5 < cell["low"] <= cell["ratio"] <= cell["high"] < MUCH / LITTLE
    assert {tried["subject"]: tried["why"] for tried in told["tried"]}["change 2"].startswith(
        "does not build: "
    )
    assert planted.state() == before


@pytest.mark.starts_programs
@pytest.mark.slow
def test_a_library_is_bisected_and_the_same_command_measures_nothing_again(
    planted: Planted, tmp_path: Path
) -> None:
    planted.commit(LITTLE, MUCH)
    words = ["-o", str(tmp_path / "out"), *LIBRARY_OF_COMMIT]
    status, printed = planted.bisect(*words)
    assert (status, "FIRST WORSE: " in printed, "change 1 (A, " in printed) == (0, True, True), printed
    measured = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("results.jsonl")}
    assert len(measured) == 2  # against OLD, and afresh against the commit before
    assert planted.bisect(*words, build="make") == (status, printed)
    assert {path: path.stat().st_mtime_ns for path in measured} == measured
    assert "holds another bisection" in refusal(planted.bisect("-o", str(tmp_path / "out"), *TOOL_OF_COMMIT))


@pytest.mark.starts_programs
@pytest.mark.slow
def test_two_slow_commits_are_both_named_with_their_shares(planted: Planted) -> None:
    planted.commit(LITTLE, 2 * LITTLE, 4 * LITTLE)
    first = success(planted.bisect(*TOOL_OF_COMMIT))
    assert "FIRST WORSE: " in first
    assert "change 1 (A, " in first
    assert re.search(r"explains 4[0-9] % of the .* --all finds every commit", " ".join(first.split()))
    told = json.loads(success(planted.bisect("--all", "--json", *TOOL_OF_COMMIT)).splitlines()[-1])
    steps = {step["commits"][0]["subject"]: step["cells"][0] for step in told["steps"]}
    assert list(steps) == ["change 1", "change 2"]
    assert sum(cell["share"] for cell in steps.values()) == pytest.approx(1, abs=0.01)
    assert steps["change 1"]["share"] < steps["change 2"]["share"]
    assert told["says"] == "WORSE THAN THE ONE BEFORE: 2 of 2 commits"


@pytest.mark.starts_programs
def test_where_the_commit_between_does_not_build_the_answer_is_a_range(planted: Planted) -> None:
    planted.commit(LITTLE, None, MUCH)
    status, printed = planted.bisect(*TOOL_OF_COMMIT)
    assert status == 4
    assert "the first that is worse is one of 2 commits." in " ".join(printed.split())
    assert "change 1 (A, " in printed
    assert "unusable: does not build: " in printed


@pytest.mark.starts_programs
def test_where_the_end_is_not_worse_there_is_nothing_to_find(planted: Planted) -> None:
    planted.commit(LITTLE, None, LITTLE)
    assert "NOT WORSE: " in success(planted.bisect(*TOOL_OF_COMMIT))


@pytest.mark.parametrize(
    "history", [[None, MUCH], [LITTLE, None]], ids=["the first commit", "the last commit"]
)
def test_ends_that_do_not_build_leave_nothing_to_compare(planted: Planted, history: list[int | None]) -> None:
    planted.commit(*history)
    printed = failure(planted.bisect("-q", *TOOL_OF_COMMIT))
    assert "does not build: " in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("commits", "words", "fault"),
    [
        ("v1", TOOL_OF_COMMIT, "'v1' is no range OLD..NEW, such as v1.0..HEAD"),
        ("v1..", TOOL_OF_COMMIT, "is no range OLD..NEW"),
        ("v1...HEAD", TOOL_OF_COMMIT, "is no range OLD..NEW"),
        ("v1..none", TOOL_OF_COMMIT, "git rev-parse: Needed a single revision"),
        ("HEAD..v1", TOOL_OF_COMMIT, "HEAD is not before v1 along first parents"),
        ("v1..v1", TOOL_OF_COMMIT, "v1 is not before v1 along first parents"),
        ("v1..HEAD", [], "give what a commit builds: --library FILE, or -- PROGRAM ARGS"),
        (
            "v1..HEAD",
            ["--", "ls"],
            "ls is the same for every commit; name a program in the tree, such as ./ls",
        ),
        ("v1..HEAD", ["--library", "/lib/libmine.so"], "give a path within the tree of a commit"),
        ("v1..HEAD", ["--suite", "quick"], "--suite goes with --library"),
        ("v1..HEAD", ["--instructions", "counters", *TOOL_OF_COMMIT], "add --instructions callgrind"),
        ("v1..HEAD", ["--repository", "/", *TOOL_OF_COMMIT], "not a git repository"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    planted: Planted, commits: str, words: list[str], fault: str
) -> None:
    planted.commit(LITTLE, LITTLE)
    assert fault in refusal(planted.bisect(*words, commits=commits))


def test_a_build_that_leaves_nothing_is_named(planted: Planted) -> None:
    planted.commit(LITTLE, MUCH)
    printed = failure(planted.bisect("-q", "--library", "libother.so", "--", "ls"))
    assert "its build leaves no libother.so" in printed


def test_a_git_hook_that_starts_it_and_hooks_of_the_user_change_nothing(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.commit(LITTLE, None)
    hook = f"#!/bin/sh\ntouch '{tmp_path / 'called'}'\n"
    executable(planted.place / ".git" / "hooks" / "post-checkout", hook)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert "does not build" in failure(planted.bisect("-q", *TOOL_OF_COMMIT))
    assert not (tmp_path / "called").exists()
