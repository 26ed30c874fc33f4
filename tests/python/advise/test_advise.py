"""What holds the memory of programs that say so themselves: the answer is right under each allocator."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from laboratory import called
from subprocesses import heaplab, printed_by

from heaplab.advise import advice_json, perfetto, replaying, run_advise, what_if
from heaplab.advise.answer import Evidence, HolderAnswer, Kind, answers_of
from heaplab.advise.census import Replays
from heaplab.advise.replaying import RUNS, Recording, Treatment
from heaplab.advise.sentences import sentence
from heaplab.catalog import contents, locate
from heaplab.errors import UsageError
from heaplab.options.chosen_arms import arm_of
from heaplab.results.records import Arm
from heaplab.traces import tool
from heaplab.traces.profile import of_process

pytestmark = pytest.mark.starts_programs

ALLOCATORS = ("glibc", "jemalloc", "mimalloc", "scalloc", "tcmalloc", "llheap")
MOST = 5
PROGRAMS = ("leak", "cache", "retained", "pinned", "regrowth", "nothing", "steady", "rests", "slow", "tidy")


def found_here() -> list[Arm]:
    """Five allocators, of which heaplab's own and the C library's are always here."""
    found = []
    for name in ALLOCATORS:
        try:
            found.append(arm_of(contents.load(()), name))
        except locate.NotHereError:
            continue
    return found[:MOST]


@dataclass(frozen=True)
class Recorded:
    """All programs in one trace, each a process."""

    folder: Path
    summary: dict[str, object]
    numbers: dict[str, int]
    known: dict[str, Evidence]

    @property
    def trace(self) -> Path:
        return self.folder / "holders.trace"

    def memory_of(self, program: str) -> int:
        """What the program itself holds at its end, in bytes."""
        return int(printed_by(self.folder / "holders", program)) << 10

    def evidence(self, program: str) -> Evidence:
        if program not in self.known:
            number = self.numbers[program]
            profile = of_process(self.trace, self.summary, number)
            recording = Recording(self.trace, number, self.folder, slow_runs=RUNS)
            plan = run_advise.treatments(found_here())
            *_, self.known[program] = run_advise.held(recording, Evidence(profile, []), plan, ())
        return self.known[program]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("holders")
    source = Path(__file__).with_name("holders.c")
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "holders", source], check=True)
    script = "; ".join(f"./holders {program}" for program in PROGRAMS)
    heaplab(folder, "record", "-o", "holders.trace", "--", "sh", "-c", script).check_returncode()
    summary = tool.summary(folder / "holders.trace")
    arguments = [process["process"]["arguments"].split("\0") for process in summary["processes"]]
    numbers = {words[1]: number for number, words in enumerate(arguments) if words[0] == "./holders"}
    assert set(numbers) == set(PROGRAMS)
    return Recorded(folder, summary, numbers, {})


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "RUNS", 1)


def first(place: int, of: Sequence[Replays]) -> list[Replays]:
    return [of[place], *of[:place], *of[place + 1 :]]


def verdict_of(evidence: Evidence) -> HolderAnswer:
    return answers_of(evidence)[0]


def each_base(evidence: Evidence) -> list[tuple[str, Evidence, HolderAnswer]]:
    """The same evidence with each allocator in turn as the one that the verdict is about."""
    found = []
    for place, base in enumerate(evidence.replays):
        tried = evidence.what_if
        turned = replace(
            evidence,
            replays=first(place, evidence.replays),
            what_if=tried and replace(tried, replays=first(place, tried.replays)),
        )
        found.append((base.name, turned, verdict_of(turned)))
    return found


def verdicts(evidence: Evidence) -> dict[str, Kind]:
    return {name: verdict.kind for name, _, verdict in each_base(evidence)}


@pytest.mark.parametrize(
    ("program", "kind", "site"), [("leak", Kind.LEAK, "forgotten"), ("cache", Kind.GROWING, "cached")]
)
def test_what_grows_is_named(recorded: Recorded, program: str, kind: Kind, site: str) -> None:
    for name, _, verdict in each_base(recorded.evidence(program)):
        assert verdict.kind == kind, name
        assert verdict.sure
        [growth] = verdict.growths
        assert growth.name.startswith(f"{site} ")
        assert growth.bytes > 8 << 20


def test_live_data_and_a_slow_leak_are_both_told_by_their_size(recorded: Recorded) -> None:
    evidence = recorded.evidence("slow")
    first, second = answers_of(evidence)[:2]
    assert (first.kind, second.kind, second.sure) == (Kind.LIVE, Kind.LEAK, True)
    assert first.bytes == pytest.approx(20e6, rel=0.02)
    assert second.bytes == pytest.approx(2e6, rel=0.03)
    document = json.loads(advice_json.text_of(evidence, answers_of(evidence)))
    assert document["also"][0]["verdict"] == "a leak"
    assert document["growth"][0]["name"].startswith("forgotten ")


def test_what_is_freed_as_the_last_act_was_live(recorded: Recorded) -> None:
    for name, evidence, verdict in each_base(recorded.evidence("tidy")):
        assert verdict.kind == Kind.LIVE, name
        assert evidence.census.live_blocks == 40000
        assert verdict.bytes == pytest.approx(evidence.census.live_bytes, rel=0.01)


def test_allocators_that_purge_by_time_have_that_time(recorded: Recorded) -> None:
    evidence = recorded.evidence("rests")
    [scalloc] = [replay for replay in evidence.replays if replay.name == "scalloc"]
    assert scalloc.peak > 60 << 20
    assert scalloc.memory(evidence.moment.place)[1] < 20 << 20


def with_hurried(evidence: Evidence, place: int) -> Evidence:
    """The evidence where the allocator at a place had no time to purge."""
    replays = list(evidence.replays)
    replays[place] = replace(replays[place], hurried=True)
    return replace(evidence, replays=replays)


def test_allocators_that_had_no_time_to_purge_are_named(recorded: Recorded) -> None:
    options = ["--process", recorded.numbers["rests"], "--allocators", "glibc,scalloc", "--pace", "asap"]
    said = " ".join(called(recorded.folder, "advise", "holders.trace", *options).stdout.split())
    assert "without time to purge: scalloc. They may hold less in the program; --pace recorded" in said


@pytest.mark.parametrize(
    ("seconds", "pace", "runs"),
    [
        (0, None, 3),
        (9, None, 3),
        (11, None, 2),
        (29, None, 1),
        (31, None, 0),
        (31, "recorded", 3),
        (0, "asap", 0),
    ],
)
def test_slow_replays_are_as_many_as_a_minute_allows(
    recorded: Recorded, seconds: float, pace: str | None, runs: int
) -> None:
    profile = recorded.evidence("rests").profile
    ticks = profile.origin + int(seconds * profile.ticks_per_second)
    plan = [Treatment(arm_of(contents.load(()), name)) for name in ("glibc", "scalloc", "llheap")]
    assert run_advise.slow_runs(replace(profile, last_stamp=ticks), plan, pace) == runs


def test_what_nobody_measured_is_not_sure(recorded: Recorded) -> None:
    evidence = recorded.evidence("nothing")
    assert verdict_of(evidence).sure
    for lacking in (with_hurried(evidence, -1), replace(evidence, complete=False)):
        assert (verdict_of(lacking).kind, verdict_of(lacking).sure) == (Kind.NOTHING, False)
    unknown = replace(evidence, replays=[], complete=False)
    assert sentence(unknown, verdict_of(unknown)).startswith("nothing grows; what else holds memory")


@pytest.mark.parametrize("program", ["retained", "pinned", "regrowth", "nothing"])
def test_a_baseline_without_time_to_purge_is_not_sure_to_hold_what_no_block_uses(
    recorded: Recorded, program: str
) -> None:
    evidence = recorded.evidence(program)
    assert not evidence.hurried
    why = f"replayed as fast as possible, which leaves {evidence.base.name} no time to purge"
    assert why not in sentence(evidence, verdict_of(evidence))
    hurried = with_hurried(evidence, 0)
    verdict = verdict_of(hurried)
    assert (verdict.kind, verdict.sure) == (verdict_of(evidence).kind, False)
    assert sentence(hurried, verdict).endswith(f"(likely); {why}")


def test_live_data_is_sure_at_any_pace(recorded: Recorded) -> None:
    evidence = recorded.evidence("steady")
    hurried = with_hurried(evidence, 0)
    assert [answer.sure for answer in answers_of(hurried)] == [answer.sure for answer in answers_of(evidence)]
    assert "no time to purge" not in sentence(hurried, verdict_of(hurried))


def test_few_blocks_that_pin_pages_are_named_under_each_allocator(recorded: Recorded) -> None:
    for name, evidence, verdict in each_base(recorded.evidence("pinned")):
        assert verdict.kind == Kind.PINNED, (name, sentence(evidence, verdict))
        top = evidence.census.holdings[0]
        assert evidence.profile.chain(top.site).startswith("long_lived ")
        assert top.pinned > 0.9 * evidence.census.pinned > 10 << 20
        assert top.blocks == 4000
        assert top.bytes == 4000 * 192


def test_sites_apart_give_back_what_they_do_in_the_program(recorded: Recorded) -> None:
    evidence = recorded.evidence("pinned")
    separating = recorded.memory_of("pinned") - recorded.memory_of("separated")
    assert separating > 10 << 20
    assert evidence.apart_gain[1] == pytest.approx(separating, rel=0.2)
    for number, replays in enumerate(evidence.replays):
        unpinned = evidence.what_if.unpinned(number, replays, evidence.moment.place)
        assert evidence.what_if.estimated[replays.name] == pytest.approx(unpinned, rel=0.2), replays.name


def test_what_the_c_library_retains_others_or_malloc_trim_give_back(recorded: Recorded) -> None:
    evidence = recorded.evidence("retained")
    found = verdicts(evidence)
    assert found["glibc"] == Kind.RETAINED
    assert found["glibc + malloc_trim"] == Kind.NOTHING
    assert set(found.values()) <= {Kind.RETAINED, Kind.NOTHING}
    assert verdict_of(evidence).gain[1] > 15 << 20


def test_what_the_next_burst_takes_again_is_no_gain(recorded: Recorded) -> None:
    found = verdicts(recorded.evidence("regrowth"))
    assert found["glibc"] == Kind.REGROWN
    assert set(found.values()) <= {Kind.REGROWN, Kind.NOTHING}


def test_nothing_stays_nothing(recorded: Recorded) -> None:
    assert set(verdicts(recorded.evidence("nothing")).values()) == {Kind.NOTHING}


def test_data_in_use_is_no_gain(recorded: Recorded) -> None:
    found = verdicts(recorded.evidence("steady"))
    assert found["glibc"] == Kind.LIVE
    assert not set(found.values()) & {Kind.GROWING, Kind.PINNED, Kind.REGROWN}


def test_sites_are_chosen_by_name(recorded: Recorded) -> None:
    profile = recorded.evidence("pinned").profile
    [site] = run_advise.named(profile, ["long_lived"])
    assert profile.chain(site).startswith("long_lived ")
    assert what_if.proposed(recorded.evidence("pinned").census) == (site,)
    with pytest.raises(UsageError, match=r"^--apart nowhere: no call site of .* has this in its name$"):
        run_advise.named(profile, ["nowhere"])


def test_the_command_tells_the_verdict_first_and_writes_a_page(recorded: Recorded) -> None:
    number = recorded.numbers["pinned"]
    options = ["--process", number, "--allocators", "glibc,scalloc", "-o", "advice.html", "--json"]
    done = called(recorded.folder, "advise", "holders.trace", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(done.stdout.encode()) <= 8192
    assert next(iter(found)) == "verdict"
    assert found["verdict"] == "pinned"
    assert found["sites"][0]["site"].startswith("long_lived ")
    assert [entry["allocator"] for entry in found["allocators"]] == [
        "glibc",
        "glibc + malloc_trim",
        "scalloc",
    ]
    page = (recorded.folder / "advice.html").read_text()
    assert page.index("pinned by few blocks") < page.index("<nav")
    assert page.count("<svg") == 6  # bands and a map for each
    assert re.search(
        r"pages of the heap under glibc at the end: [\d.]+ KiB used, 1[3-6]\.\d MiB pinned, ", page
    )


def test_growth_is_told_before_the_first_replay(recorded: Recorded) -> None:
    number = recorded.numbers["slow"]
    done = called(recorded.folder, "advise", "holders.trace", "--process", number, "--allocators", "glibc")
    said = done.stderr.splitlines()
    [growth] = [place for place, line in enumerate(said) if line.startswith("heaplab: a leak: ")]
    assert growth < min(place for place, line in enumerate(said) if "replaying under" in line)
    assert "of forgotten (" in said[growth]
    assert done.stdout.startswith("live data: ")
    assert "\na leak: " in done.stdout


def test_the_budget_ends_replays_and_what_is_known_is_told(recorded: Recorded) -> None:
    options = ["--process", recorded.numbers["leak"], "--allocators", "glibc,scalloc", "--budget", "1ms"]
    done = called(recorded.folder, "advise", "holders.trace", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a leak: ")
    assert done.stderr.count("replaying under") == 1
    assert "the budget ended the replays" in done.stderr


def test_ctrl_c_keeps_what_is_known(recorded: Recorded) -> None:
    words = [
        "advise",
        "holders.trace",
        "--process",
        str(recorded.numbers["leak"]),
        "--allocators",
        "glibc,llheap,scalloc,scalloc-hardened",  # so many that replays still go on when the signal arrives
    ]
    command = [sys.executable, "-m", "heaplab", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=recorded.folder, **pipes) as program:
        said = []
        for line in program.stderr:
            said.append(line)
            if "replaying under llheap" in line:
                program.send_signal(signal.SIGINT)
                break
        printed, rest = program.communicate()
    assert program.returncode == 1
    assert printed.startswith("a leak: ")
    assert rest.splitlines()[-1] == "heaplab: interrupted"


def test_a_step_that_is_interrupted_leaves_the_one_before(recorded: Recorded) -> None:
    first, second = Evidence(recorded.evidence("leak").profile, []), recorded.evidence("leak")

    def steps() -> Iterator[Evidence]:
        yield second
        raise KeyboardInterrupt

    assert run_advise.known(first, steps(), None) == (second, True)
    assert run_advise.known(first, iter([second, first]), 1e-9) == (second, False)
    assert run_advise.known(first, iter([second, first]), None) == (first, False)


def test_counters_for_perfetto_have_what_lives_and_what_is_pinned(recorded: Recorded, tmp_path: Path) -> None:
    evidence = recorded.evidence("pinned")
    verdict = sentence(evidence, answers_of(evidence)[0])
    perfetto.write(tmp_path / "x.perfetto.json", verdict, perfetto.of_replays(evidence))
    found = json.loads((tmp_path / "x.perfetto.json").read_text())
    assert found["otherData"]["verdict"].startswith("pinned by few blocks")
    events = found["traceEvents"]
    names = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    assert names["holders under glibc"] == 2
    assert len(names) == 1 + len(evidence.replays)

    def course(number: int, name: str) -> list[tuple[float, int]]:
        """Times in microseconds, and values."""
        wanted = [
            event for event in events if (event["ph"], event["pid"], event["name"]) == ("C", number, name)
        ]
        return [(event["ts"], event["args"].get("bytes", 0)) for event in wanted]

    for pid, name in ((1, "live"), (2, "pinned")):
        times = [time for time, _ in course(pid, name)]
        assert times == sorted(times)
        # The process ends some time after its last call, on a busy machine much later.
        assert 0.1 < times[-1] / (1e6 * evidence.profile.seconds) < 1.01
    assert max(value for _, value in course(1, "live")) == pytest.approx(evidence.profile.peak_bytes, rel=0.1)
    assert course(2, "pinned")[-1][1] == evidence.base.typical(-1).pinned > 10 << 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "heaplab: advise: name a trace, or a program behind --"),
        (["no.trace"], "heaplab: no.trace: No such file or directory"),
        (["holders.trace", "-o", "x.txt"], "heaplab: x.txt: its suffix is neither .html nor .perfetto.json"),
        (["holders.trace", "--process", "99"], "heaplab: --process 99: holders.trace has processes 0 to 10"),
    ],
)
def test_bad_input_gets_one_line(recorded: Recorded, words: list[str], said: str) -> None:
    done = called(recorded.folder, "advise", *words)
    assert (done.returncode, done.stderr.strip().splitlines()) == (2, [said])
