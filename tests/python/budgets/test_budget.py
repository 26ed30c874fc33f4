"""Budgets: growth is found and named whatever the threads do, and nothing else is."""

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from laboratory import call, called, success

from heaplab.advise import ways_tried
from heaplab.budgets import budget_file, growth_beyond
from heaplab.budgets.budget_file import Tolerance
from heaplab.budgets.run_budget import Recorder
from heaplab.budgets.spending import Spender, Spending, Spent, site_of, spending_of
from heaplab.budgets.what_growth_costs import shares_of

SERVES, COMPRESSES = "serve_requests", "compress"
# What is planted by number: the thread and the function that are named, and in what they grow.
PLANTED = {
    1: (SERVES, "planted_block", {"calls", "bytes"}),
    2: (SERVES, "parsed", {"calls", "bytes"}),
    3: (SERVES, "parsed", {"bytes"}),
    4: (SERVES, "planted_block", {"calls", "bytes", "peak"}),
    5: (SERVES, "answered", {"peak"}),
    6: (SERVES, "planted_block", {"bytes", "peak"}),
    7: (COMPRESSES, "buffered", {"calls", "bytes"}),
    8: (COMPRESSES, "parsed", {"calls"}),
    9: ("log_lines", "planted_block", {"calls", "bytes"}),
    10: ("main", "planted_block", {"bytes", "peak"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program, compiled, and its budget."""
    made = tmp_path_factory.mktemp("budget")
    source = Path(__file__).with_name("budgeted.cpp")
    flags = ["-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread"]
    subprocess.run(["c++", *flags, "-o", made / "budgeted", source], check=True)
    success(call("budget", made / "x.toml", "--update", "--", made / "budgeted"))
    return made


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single pair of replays."""
    monkeypatch.setattr(ways_tried, "LONG_S", 0.0)


@pytest.mark.starts_programs
def test_an_unchanged_program_keeps_its_budget(here: Path) -> None:
    done = called(here, "budget", "x.toml", "--", "./budgeted")
    assert (done.returncode, done.stdout.startswith("WITHIN BUDGET: ")) == (0, True), done.stderr
    threads = sorted({spender.thread for spender in budget_file.read(here / "x.toml").sites})
    assert len(threads) == 3
    for thread, said in zip(threads, ("main", COMPRESSES, SERVES), strict=True):
        assert said in thread


@pytest.mark.starts_programs
@pytest.mark.parametrize("number", PLANTED)
def test_a_planted_allocation_is_named(here: Path, number: int) -> None:
    thread, site, grown = PLANTED[number]
    written = ["--junit", f"{number}.xml", "--markdown", f"{number}.md"]
    done = called(here, "budget", "x.toml", *written, "--recordings", "1", "--", "./budgeted", number)
    assert done.returncode == 3, done.stderr
    printed = " ".join(done.stdout.split())
    assert printed.startswith("OVER BUDGET: ")
    assert printed.partition("most grew ")[2].startswith(f"{site}(")
    assert " replay the growth " in printed
    failed = {
        (case.get("classname") or "", case.get("name") or ""): failure.get("message") or ""
        for case in ElementTree.parse(f"{number}.xml").iter("testcase")
        for failure in case.iter("failure")
    }
    [said] = [said for (of, name), said in failed.items() if thread in of and name.startswith(f"{site}(")]
    assert grown <= {part.split(" ")[0] for part in said.split("; ")}
    assert "most grew" in (here / f"{number}.md").read_text()


@pytest.mark.starts_programs
def test_the_growth_alone_is_what_replays_leave_out(here: Path) -> None:
    profile = Recorder(here / "x.trace", ("./budgeted", "2"), (), None).profile()
    found = growth_beyond.beyond(budget_file.read(here / "x.toml"), spending_of(profile))
    shares = shares_of(found, profile)
    assert {site_of(profile, site).partition("(")[0] for site in shares} == {"parsed"}
    assert list(shares.values()) == [pytest.approx(0.5)] * len(shares)


@pytest.mark.starts_programs
def test_the_peak_of_all_does_not_tell_which_threads_ran_at_once(here: Path) -> None:
    profile = Recorder(here / "x.trace", ("./budgeted",), (), None).profile()
    of_all = spending_of(profile).total.peak
    assert of_all == sum(profile.thread_peaks.values()) >= profile.peak_bytes
    assert len(profile.thread_peaks) >= 3  # main and both that compress; others may come too late


CALLER = Spender("main", "f < g")


def runs(*calls: int) -> list[Spending]:
    return [Spending(Spent(each, 100 * each, 100), {CALLER: Spent(each, 100 * each, 100)}) for each in calls]


def budget(*calls: int) -> budget_file.Budget:
    return budget_file.made_of("./program", runs(*calls), Tolerance())


@pytest.mark.parametrize(("now", "grown"), [(1050, ()), (1051, ("calls", "bytes")), (10, ())])
def test_growth_within_the_tolerance_is_none(now: int, grown: tuple[str, ...]) -> None:
    found = growth_beyond.beyond(budget(1000), runs(now)[0])
    assert [excess.grown for excess in found] == ([grown, grown] if grown else [])


def test_a_call_site_of_few_blocks_may_appear() -> None:
    few = Spending(Spent(), {CALLER: Spent(16, 4096, 4096)})
    assert growth_beyond.beyond(budget(1000), few) == []
    [excess] = growth_beyond.beyond(
        budget(1000), Spending(Spent(), {Spender("new", "f"): Spent(17, 4096, 4096)})
    )
    assert excess.grown == ("calls",)


def test_what_differs_between_runs_is_tolerated_twice_as_far() -> None:
    [allowance] = budget(1000, 800, 900).sites.values()
    assert (allowance.calls, allowance.tolerance) == (1000, 0.4)
    assert growth_beyond.beyond(budget(1000, 800, 900), runs(1400)[0]) == []
    assert growth_beyond.beyond(budget(1000, 800, 900), runs(1401)[0]) != []


def test_only_what_grew_in_each_recording_fails() -> None:
    other = Spender("main", "h")
    both = Spending(Spent(), {CALLER: Spent(2000, 0, 0), other: Spent(50, 0, 0)})
    spending = Spending(Spent(), {CALLER: Spent(2000, 200_000, 0)})
    found = growth_beyond.in_each([growth_beyond.beyond(budget(1000), each) for each in (both, spending)])
    assert [(each.spender, each.grown) for each in found] == [(CALLER, ("calls",))]


def test_a_file_that_was_written_reads_the_same(tmp_path: Path) -> None:
    odd = Spender('a "thread"\\', "operator[]<\x7fé\n> < g")
    spent = {odd: Spent(100, 10_000, 1), CALLER: Spent(17, 1, 1)}
    made = budget_file.made_of("./program 'a b'", [Spending(Spent(1, 2, 3), spent)], Tolerance(calls=0.5))
    (tmp_path / "x.toml").write_text(budget_file.text_of(made, "x.toml"), encoding="utf-8")
    assert budget_file.read(tmp_path / "x.toml") == made


@pytest.mark.starts_programs
def test_an_update_keeps_the_tolerance_that_someone_wrote(here: Path) -> None:
    own = here / "own.toml"
    own.write_text((here / "x.toml").read_text().replace("spare_bytes = 4096", "spare_bytes = 100000"))
    success(call("budget", "own.toml", "--update", "--recordings", "1", "--", "./budgeted"))
    assert budget_file.read(own).tolerance.spare_bytes == 100_000
    assert len(budget_file.read(own).sites) < len(budget_file.read(here / "x.toml").sites)


@pytest.mark.parametrize(
    ("text", "words", "status", "said"),
    [
        ("", ["no.toml", "--", "ls"], 2, "no.toml: there is no such file; --update writes it"),
        ("", ["x.txt", "--", "ls"], 2, "x.txt: its suffix is not .toml"),
        ("", ["bad.toml"], 2, "budget: name a program behind --"),
        ("calls", ["bad.toml", "--", "ls"], 2, "bad.toml: not TOML: "),
        ("x = 1", ["bad.toml", "--", "ls"], 2, "bad.toml: program: Field required"),
        (
            "program = ''\n[total]\ncalls = -1",
            ["bad.toml", "--", "ls"],
            2,
            "bad.toml: total.calls: Input should be greater than or equal to 0",
        ),
        (
            "program = ''\n[total]",
            ["bad.toml", "--", "sh", "-c", "exit 7"],
            1,
            "sh: exit status 7, so that nothing was judged",
        ),
    ],
)
def test_bad_input_gets_one_line(tmp_path: Path, text: str, words: list[str], status: int, said: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    done = called(tmp_path, "budget", *words)
    [line] = done.stderr.splitlines()
    assert (done.returncode, line.startswith(f"heaplab: {said}")) == (status, True), line
