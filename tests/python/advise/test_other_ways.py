"""Other ways to use blocks: found where a program has them, nothing where it has not, judged by all pairs."""

import subprocess
from pathlib import Path

import pytest
from subprocesses import heaplab

from heaplab.advise import holding_tables, replaying, run_advise, ways_tried
from heaplab.advise.answer import Evidence
from heaplab.advise.census import Census, mean_memory
from heaplab.advise.other_ways import NOTHING, OtherWay, Savings
from heaplab.advise.replaying import Cost, Recording, Treatment
from heaplab.catalog import contents
from heaplab.options.chosen_arms import arm_of
from heaplab.results.records import Arm
from heaplab.traces import tool
from heaplab.traces.profile import of_process

Tried = dict[str, tuple[Evidence, dict[str, OtherWay]]]
PROGRAMS = ("lines", "vectors", "keys", "nothing", "bursts")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """By program: the evidence, and the ways by the first word of their names."""
    folder = tmp_path_factory.mktemp("ways")
    source = Path(__file__).with_name("ways.cpp")
    flags = ["-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer"]
    subprocess.run(["c++", *flags, "-o", folder / "ways", source], check=True)
    script = "; ".join(f"./ways {program}" for program in PROGRAMS)
    heaplab(folder, "record", "--stacks", "-o", "ways.trace", "--", "sh", "-c", script).check_returncode()
    summary = tool.summary(folder / "ways.trace")
    glibc = arm_of(contents.load(()), "glibc")
    found = {}
    with pytest.MonkeyPatch.context() as once:
        once.setattr(replaying, "LONG_S", 0.0)
        once.setattr(ways_tried, "LONG_S", 0.0)
        for number, process in enumerate(summary["processes"]):
            words = process["process"]["arguments"].split("\0")
            if words[0] == "./ways":
                recording = Recording(folder / "ways.trace", number, folder)
                profile = of_process(folder / "ways.trace", summary, number)
                plan = run_advise.treatments([glibc])
                *_, evidence = run_advise.held(recording, Evidence(profile, []), plan, ())
                ways = ways_tried.ways_of(recording, evidence, glibc, None)
                found[words[1]] = evidence, {way.name.split(" ")[0]: way for way in ways}
    return found


@pytest.mark.starts_programs
@pytest.mark.parametrize(
    ("program", "way", "site", "found"),
    [
        ("lines", "reserved", "longer(", "300 buffers grew 76.5k times"),
        ("vectors", "reserved", "pushed", "2,000 buffers grew 20.0k times, 15.6 MiB copied"),
        ("keys", "temporaries", "copied(", "400k blocks of 24.4 MiB died at once"),
    ],
)
def test_what_could_be_reserved_or_lie_on_the_stack_is_named(
    tried: Tried, program: str, way: str, site: str, found: str
) -> None:
    evidence, ways = tried[program]
    other_way = ways[way]
    assert evidence.profile.chain(other_way.sites[0]).startswith(site)
    assert other_way.calls.startswith(found)
    assert other_way.seconds
    assert other_way.seconds > 0
    assert other_way.measured
    other = ways["temporaries" if way == "reserved" else "reserved"]
    assert (other.sites, other.measured, other.gain) == ((), None, NOTHING)


@pytest.mark.starts_programs
def test_nothing_is_tried_where_no_call_site_has_enough(tried: Tried) -> None:
    evidence, ways = tried["nothing"]
    assert [ways[name].measured for name in ("reserved", "temporaries")] == [None, None]
    assert [way.gain for way in ways.values()] == [NOTHING] * 3
    whole = Evidence(evidence.profile, evidence.replays, None, list(ways.values()))
    assert "no call site" in str(holding_tables.other_ways(whole).rows)


@pytest.mark.starts_programs
def test_trimming_gives_back_what_the_next_burst_faults_again(tried: Tried) -> None:
    trimmed = tried["bursts"][1]["malloc_trim"]
    assert trimmed.memory
    assert 4 << 20 < trimmed.measured.memory[1] <= trimmed.memory < 30 << 20
    assert -trimmed.measured.faults[1] > 2000
    assert " of memory on average, for at least " in trimmed.gain
    assert trimmed.gain.endswith(" page faults")


def measured(*costs: tuple[float, float, float]) -> Savings:
    """As often as it takes, the last again and again."""
    whole = [*costs, *[costs[-1]] * (ways_tried.ROUNDS - len(costs))]
    return ways_tried.compared([(Cost(1.0, 1 << 30, 0), Cost(*cost)) for cost in whole])


@pytest.mark.parametrize(
    ("costs", "seconds", "said"),
    [
        ([(0.9, 1 << 30, 0), (0.8, 1 << 30, 0)], 10, "2.0 % of the run's time"),
        ([(0.9, 1 << 30, 0), (0.8, 1 << 30, 0)], 100, NOTHING),  # too little
        ([(0.5, 1 << 30, 0), (1.1, 1 << 30, 0), (0.5, 1 << 30, 0)], 10, NOTHING),  # not in all
        ([(0.5, 1 << 30, 0)], 0, NOTHING),  # a recording without times
        ([(1.0, (1 << 30) - (1 << 20), 0)], 10, "1.00 MiB of memory"),
        ([(1.0, (1 << 30) - (1 << 20) + 1, 0)], 10, NOTHING),
        ([(1.5, 1 << 20, 700)], 10, "1,023 MiB of memory, for at least 500 ms and 700 page faults"),
        ([(1.5, 1 << 30, 700)], 10, NOTHING),
    ],
)
def test_only_what_all_pairs_gain_and_is_worth_a_change_is_said(
    costs: list[tuple[float, float, float]], seconds: float, said: str
) -> None:
    assert ways_tried.gain(measured(*costs), seconds, 1 << 20, "memory") == said


def test_each_replay_begins_elsewhere_in_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is given back by chance would come back in all of them."""
    shifts = []

    def census(_self: Recording, _workload: Path, _arm: Arm, *options: str) -> tuple[tuple[()], Cost]:
        shifts.append(int(options[options.index("--shift") + 1]))
        return (), Cost(0, 0, 0)

    monkeypatch.setattr(Recording, "census", census)
    glibc = Treatment(arm_of(contents.load(()), "glibc"))
    Recording(Path(), 0, Path()).replayed(Path(), glibc)
    assert shifts == [0, 44 << 10, 88 << 10]


def test_only_the_first_replay_stands_still_for_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else allocators that purge after some time would purge in all of them more than in the program."""
    memory = iter(range(100))

    def census(_self: Recording, _workload: Path, _arm: Arm, *options: str) -> tuple[list[Census], Cost]:
        asked = ("trough", "end") if "--no-samples" in options else ("sample", "trough", "sample", "end")
        return [Census(why, 0, 0, 0, next(memory), 0, 0, 0, 0, 0, ()) for why in asked], Cost(0, 0, 0)

    monkeypatch.setattr(Recording, "census", census)
    glibc = Treatment(arm_of(contents.load(()), "glibc"))
    found = Recording(Path(), 0, Path()).replayed(Path(), glibc)
    assert [[moment.memory for moment in run] for run in found.runs] == [
        [0, 1, 2, 3],
        [0, 4, 2, 5],
        [0, 6, 2, 7],
    ]


def test_few_pairs_tell_nothing_of_times() -> None:
    pairs = [(Cost(1.0, 1 << 30, 0), Cost(0.5, 0, 0))] * (ways_tried.ROUNDS - 1)
    assert ways_tried.gain(ways_tried.compared(pairs), 1, 1 << 20, "memory") == "1.00 GiB of memory"


@pytest.mark.parametrize(
    ("other", "pairs"),
    [(Cost(0.5, 10, 0), ways_tried.ROUNDS), (Cost(2.0, 5, 0), ways_tried.ROUNDS), (Cost(1.0, 10, 0), 1)],
)
def test_no_more_pairs_are_replayed_once_nothing_can_be_gained(other: Cost, pairs: int) -> None:
    assert len(ways_tried.pairs_of(lambda: Cost(1.0, 10, 0), lambda: other)) == pairs
    assert len(ways_tried.pairs_of(lambda: Cost(1.0, 10, 0), lambda: other, 3)) == min(pairs, 3)


def test_mean_memory_is_over_time() -> None:
    def run(*points: tuple[int, int]) -> list[Census]:
        return [Census("sample", at, 0, 0, memory, 0, 0, 0, 0, 0, ()) for at, memory in points]

    assert mean_memory(run((0, 100), (10, 500), (40, 900))) == 400
    assert mean_memory(run((0, 100), (0, 500))) == 300
