"""Six subsystems whose answer is known: what suits them, what forbids it, and code that compiles."""

import json
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from laboratory import called
from subprocesses import heaplab

from heaplab.advise.other_ways import Savings
from heaplab.advise.replaying import Recording
from heaplab.subsystems import benchmarks, calibration, local_page, local_tables, patches, run_local, vetoes
from heaplab.subsystems.calibration import Calibration, Told
from heaplab.subsystems.groups import Group
from heaplab.subsystems.judgement import Confirmed, Judgement, worth_telling
from heaplab.subsystems.subsystem import Appraised
from heaplab.subsystems.vetoes import LocalKind, Rule
from heaplab.traces import tool
from heaplab.traces.profile import of_process

pytestmark = pytest.mark.starts_programs

SOURCE = Path(__file__).with_name("programs.cpp")
WORDS = str(SOURCE.with_name("words.lua"))
HEADERS = Path(__file__).parents[3] / "include"
COMPILER = ["g++", "-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}"]
PROGRAMS = ("parser", "orders", "names", "pictures", "messages", "sums")
CALL_S = 1e-7  # of a call; the machine's own would make an answer depend on what else runs


@dataclass(frozen=True)
class Recorded:
    folder: Path
    known: dict[str, list[Judgement]]

    def first(self, program: str) -> Judgement:
        return self.known[program][0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("subsystems")
    subprocess.run([*COMPILER, "-pthread", SOURCE, "-o", folder / "programs"], check=True)
    script = "; ".join(f"./programs {program}" for program in PROGRAMS)
    heaplab(folder, "record", "--stacks", "-o", "all.trace", "--", "sh", "-c", script).check_returncode()
    trace = folder / "all.trace"
    summary = tool.summary(trace)
    known = {}
    for number, process in enumerate(summary["processes"]):
        words = process["process"]["arguments"].split("\0")
        if words[0] == "./programs":
            profile = of_process(trace, summary, number)
            found = run_local.measured(Recording(trace, number, folder), profile, (), CALL_S)
            known[words[1]] = [Judgement(measured) for measured in worth_telling(found)]
    assert set(known) == set(PROGRAMS)
    return Recorded(folder, known)


def forbidding(judgement: Judgement, rule: Rule) -> list[str]:
    """What a rule says."""
    return [veto.why for veto in rule(judgement.measured)]


@pytest.mark.parametrize(
    ("program", "name", "suits", "winks"),
    [
        ("parser", "parse_document", LocalKind.MONOTONIC, True),
        ("orders", "trade", LocalKind.MULTIPOOL, False),
    ],
)
def test_what_suits_is_found(
    recorded: Recorded, program: str, name: str, suits: LocalKind, winks: bool
) -> None:
    judgement = recorded.first(program)
    assert (judgement.name, judgement.suits) == (name, suits)
    assert vetoes.winks_out(judgement.measured, judgement.suits) == winks


def changed(judgement: Judgement, **counts: object) -> Appraised:
    """As if the recording had other counts."""
    measured = judgement.measured
    return replace(measured, of=measured.of.model_copy(update=counts))


def test_of_about_as_many_calls_the_one_with_the_fewest_call_sites_is_told(recorded: Recorded) -> None:
    parser = recorded.first("parser")
    for released in range(300_000, 330_000, 10_000):
        inner = changed(parser, group=Group("inner", (1, 2)), released=released)
        outer = changed(parser, group=Group("outer", (1, 2, 3)), released=released + 100)
        assert [found.of.group.name for found in worth_telling([outer, inner])] == ["inner"]
    other = changed(parser, group=Group("other", (9,)), released=0)
    assert [found.of.group.name for found in worth_telling([other, outer])] == ["outer", "other"]


def test_blocks_of_realloc_forbid_where_they_are_not_few(recorded: Recorded) -> None:
    parser = recorded.first("parser")
    blocks = parser.measured.of.acquired.blocks
    assert Judgement(changed(parser, growths=blocks // 200)).suits is LocalKind.MONOTONIC
    assert Judgement(changed(parser, growths=blocks // 50)).suits is LocalKind.NONE


def test_shares_are_of_cpu_time_where_that_is_known(recorded: Recorded) -> None:
    measured = recorded.first("parser").measured
    assert measured.profile.cpu_ns > 0
    slow, unknown = (
        replace(measured, profile=replace(measured.profile, cpu_ns=ns)) for ns in (10_000_000_000, 0)
    )
    assert slow.share == pytest.approx(measured.allocation_s / 10, rel=0.01)
    assert replace(unknown, profile=replace(unknown.profile, ticks_per_second=0)).share is None


def like(measured: Appraised) -> dict[str, str]:
    """Why each benchmark is not like a subsystem; "" if it is."""
    return {forms.number: forms.why_not for forms in (of(measured.of) for of in calibration.BENCHMARKS)}


def test_benchmarks_are_like_a_subsystem_or_say_why_not(recorded: Recorded) -> None:
    parser, orders = (recorded.first(name) for name in ("parser", "orders"))
    told = like(parser.measured)
    assert told["I"] == ""
    assert "less than once a page" in told["II"]
    assert "live at a time" in told["III"]
    assert "a single thread" in told["IV"]
    told = like(orders.measured)
    assert "201 times what lives" in told["I"]
    assert told["III"] == ""
    small = changed(orders, totals=[0] * 12 + [orders.measured.of.episode_bytes])
    assert like(small)["I"] == ""  # as if each episode had 4 KiB
    assert like(small)["III"] != ""
    mixed = changed(orders, threads=2, turns=orders.measured.of.acquired.bytes // 1000)
    assert like(mixed)["II"] == like(mixed)["IV"] == ""
    for form in calibration.utilization(orders.measured.of).options:
        assert form[form.index("--size") + 1] == ("424B" if "--least-size" in form else "216B")


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0.4, 0.5)], (0.4, 0.5)),
        ([(0.4, 0.4), (0.5, 0.5), (0.55, 0.55)], (0.3, 0.65)),  # from the others 0.4 is off by 0.1
        ([(0.3, 0.6), (0.4, 0.5)], (0.2, 0.7)),
        ([(0.4, 0.5), (0.5, 0.4)], (0.4, 0.5)),
    ],
)
def test_a_prediction_is_as_wide_as_its_error_among_benchmarks(
    spans: list[calibration.Span], expected: calibration.Span
) -> None:
    assert calibration.predicted(spans) == pytest.approx(expected)


def test_a_promise_has_accesses_and_the_calls_time_as_its_cap(recorded: Recorded) -> None:
    parser = gaining(recorded.first("parser"))
    ticks = parser.measured.profile.ticks_per_second / 100  # with much else to do
    slow = replace(
        parser.measured, profile=replace(parser.measured.profile, ticks_per_second=ticks, cpu_ns=0)
    )
    calls_s, accesses_s = slow.allocation_s, slow.accesses_s
    assert accesses_s is not None

    def promised(least: float, most: float, accesses: float = 0.0) -> tuple[float, float] | None:
        judgement = replace(parser, measured=slow, calibration=Calibration((), (least, most), accesses))
        return judgement.promised

    assert promised(0.1, 0.2) == pytest.approx((0.1 * calls_s, 0.2 * calls_s))
    share = 0.3 * calls_s / accesses_s
    assert promised(0.1, 0.2, share) == pytest.approx((0.1 * calls_s, 0.5 * calls_s))
    assert promised(-0.1, 1.3) == pytest.approx((-0.1 * calls_s, calls_s))


def test_documents_are_episodes_of_their_size(recorded: Recorded) -> None:
    of = recorded.first("parser").measured.of
    assert of.episodes == 200
    assert of.acquired.blocks == of.released == 200 * (30 + 2 * 30 * 50)
    assert of.typical_bytes == 1 << 18
    assert of.blow_up == 1
    assert not recorded.first("parser").vetoes


def test_a_survivor_forbids_a_monotonic_allocator_and_is_named(recorded: Recorded) -> None:
    judgement = recorded.first("names")
    assert judgement.name == "read_names"
    [why] = forbidding(judgement, vetoes.survivors)
    assert why.startswith("87 blocks")  # 40 strings with their text, 7 buffers of the vector
    assert "intern" in why
    assert judgement.suits is not LocalKind.MONOTONIC


@pytest.mark.parametrize(
    ("program", "name", "rule", "says"),
    [
        ("orders", "trade", vetoes.blown_up, "201 times what lives"),
        ("pictures", "show_pictures", vetoes.large, "100 % of its blocks are above 4 KiB"),
        ("messages", "send_messages", vetoes.remote, "other threads free 100k blocks (100 %)"),
        ("sums", "add_up", vetoes.unimportant, "of the program's time"),
    ],
)
def test_what_forbids_is_told(recorded: Recorded, program: str, name: str, rule: Rule, says: str) -> None:
    judgement = recorded.first(program)
    assert judgement.name == name
    [why, *_] = forbidding(judgement, rule)
    assert says in why
    assert judgement.suits is (LocalKind.MULTIPOOL if program == "orders" else LocalKind.NONE)


def test_dimensions_are_those_of_the_paper(recorded: Recorded) -> None:
    parser, orders = (recorded.first(name).measured.dimensions for name in ("parser", "orders"))
    assert [dimension.letter for dimension in parser] == ["D", "V", "L", "U", "C"]
    assert parser[3].value == 1
    assert orders[3].value == pytest.approx(1 / 201, rel=0.01)
    assert parser[4].value == orders[4].value == 0
    assert orders[1].value == 0  # one size
    for dimension in (*parser, *orders):
        assert dimension.value is not None
        assert 0 <= dimension.value <= 1


def gaining(judgement: Judgement) -> Judgement:
    """As if benchmark and replays had shown a gain."""
    second = (1.0, 1.0, 1.0)
    promised = Calibration((Told("I", (0.4, 0.5)), Told("II", why_not="apart")), (0.4, 0.5), 0.0, (10, 20))
    return replace(
        judgement, calibration=promised, confirmed=(Confirmed("glibc", Savings(second, second, second, 8)),)
    )


def test_no_change_is_the_default(recorded: Recorded) -> None:
    suited = recorded.first("parser")
    assert suited.advice is LocalKind.NONE
    assert gaining(suited).advice is LocalKind.MONOTONIC
    assert gaining(recorded.first("messages")).advice is LocalKind.NONE
    unsure = replace(gaining(suited).confirmed[0].savings, seconds=(-0.1, 1.0, 2.0))
    assert replace(gaining(suited), confirmed=(Confirmed("glibc", unsure),)).advice is LocalKind.NONE
    worse = Calibration((), (-0.5, -0.4))
    assert replace(gaining(suited), calibration=worse).advice is LocalKind.NONE


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_patch_compiles_beside_the_program(recorded: Recorded, program: str) -> None:
    text = patches.text_of(gaining(recorded.first(program)))
    lines = text.splitlines()
    assert lines[0].startswith("// ")
    includes = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if line not in includes]
    file = recorded.folder / f"{program}.cpp"
    file.write_text("\n".join([*includes, f'#include "{SOURCE}"', "void patched() {", *body, "}"]))
    subprocess.run([*COMPILER, "-Wno-unused-variable", "-fsyntax-only", file], check=True)
    if program == "parser":
        assert "monotonic_resource arena({.first_chunk = 262144});" in text
        assert "make_winked<std::pmr::list<std::pmr::list<std::pmr::string>>>(arena)" in text
    elif program == "orders":
        assert "multipool_resource arena;" in text
        assert "std::pmr::list<std::array<char, 200ul>> made_1(&arena);" in text
    elif program != "names":
        assert "arena" not in text


@pytest.mark.parametrize(
    ("source", "flags", "words", "text", "result"),
    [
        ("json_documents.cpp", (), ("1",), '{"a": [1, {"b": "a text that needs memory of its own"}]}', "5"),
        ("lua_script.cpp", ("-I/usr/include/lua5.4", "-llua5.4"), (WORDS, "1"), "a b a b", "4"),
    ],
)
def test_libraries_find_the_same_with_a_local_allocator(
    tmp_path: Path, source: str, flags: tuple[str, ...], words: tuple[str, ...], text: str, result: str
) -> None:
    program, read = tmp_path / "program", tmp_path / "text"
    read.write_text(text)
    subprocess.run(
        [*COMPILER, "-fsanitize=address", SOURCE.with_name(source), *flags, "-o", program], check=True
    )
    for way in ("plain", "local"):
        done = subprocess.run([program, way, *words, read], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [result]


RESOURCES = {
    "never_released": ("std::pmr::monotonic_buffer_resource", 1, "never released"),
    "never_released_local": ("heaplab::local::monotonic", 1, "never released"),
    "outgrown": ("std::pmr::monotonic_buffer_resource", 50, "outgrown"),
    "outgrown_local": ("heaplab::local::monotonic", 50, "outgrown"),
    "large_enough": ("std::pmr::monotonic_buffer_resource", 50, ""),
}


def test_mistakes_with_monotonic_resources_are_found_in_a_recording(tmp_path: Path) -> None:
    source = SOURCE.with_name("resources.cpp")
    subprocess.run([*COMPILER, source, "-o", tmp_path / "resources"], check=True)
    script = "; ".join(f"./resources {use}" for use in RESOURCES)
    heaplab(tmp_path, "record", "--stacks", "-o", "x.trace", "--", "sh", "-c", script).check_returncode()
    for process, (kind, lives, fault) in enumerate(RESOURCES.values(), 1):
        words = ("--allocators", "glibc", "--process", process, "--json", "x.trace")
        done = called(tmp_path, "advise", "--local", *words)
        assert done.returncode == 0, done.stderr
        [found] = json.loads(done.stdout)  # chunks alone are no subsystem
        assert found["resource"] == f"{kind} of fill"
        assert found["lives"] == lives
        assert found["fault"].split(":")[0] == fault
        if fault:
            assert found["chunks"] > 2 * lives


CORNERS = {number: (place / 8, 0.25, 0.5, 0.75, 1.0) for place, number in enumerate(benchmarks.NUMBERS, 1)}


def drawn(page: str, chapter: str) -> str:
    """The first picture of a chapter."""
    return page[page.index(f'id="{chapter}"') :].split("<svg", 1)[1].split("</svg>", 1)[0]


def test_the_page_shows_dimensions_episodes_and_promises(recorded: Recorded) -> None:
    judged = [gaining(recorded.first("parser"))]
    page = recorded.folder / "local.html"
    local_page.write_html(judged[0].measured.profile, judged, [], CORNERS, [], page)
    text = page.read_text()
    for title in ("Five dimensions", "Episodes", "Promised and confirmed"):
        assert title in text
    assert "the 64 largest of 200 episodes of parse_document" in text
    assert "not like this: apart" in text
    bars = re.findall(r"<text[^>]*>([^<]+)</text>", drawn(text, "dimensions"))
    assert {f"{number} {value:.2f}" for number, corner in CORNERS.items() for value in corner} <= {*bars}
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", text)
    assert {"promised above glibc", "confirmed above glibc"} <= {*labels}


def test_equal_ratios_of_bytes_are_equally_far_apart_in_the_picture_of_episodes(recorded: Recorded) -> None:
    parser = recorded.first("parser")
    [first, *_] = parser.measured.of.largest
    sizes = [first._replace(bytes=1 << power) for power in (10, 14, 18)]
    judgement = replace(parser, measured=changed(parser, largest=sizes))
    svg = local_page.episodes(judgement.measured.profile, judgement).svg
    ends = re.findall(r'<path d="M([\d.]+) ([\d.]+)L?([\d.]+) \2"[^>]*stroke-width: ?3', svg)
    lower, middle, upper = sorted(float(height) for _, height, _ in ends)
    assert upper - middle == pytest.approx(middle - lower, abs=0.2)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "ROUNDS", 1)
    monkeypatch.setattr(run_local, "TIMED", 1)


@pytest.mark.usefixtures("quick")
def test_the_command_calibrates_and_replays(recorded: Recorded) -> None:
    trace = recorded.folder / "all.trace"
    process = PROGRAMS.index("parser") + 1
    words = ("--allocators", "glibc", "--process", process, "--subsystem", "parse_document", "--json", trace)
    done = called(recorded.folder, "advise", "--local", *words)
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)
    assert found["suits"] == "monotonic"
    assert [told["number"] for told in found["calibration"]["told"]] == list(benchmarks.NUMBERS)
    assert [len(told["savings"]) for told in found["calibration"]["told"]] == [6, 0, 0, 0, 6]
    assert found["confirmed"][0]["allocator"] == "glibc"
    assert tuple(found["dimensions"]) == local_tables.LETTERS


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--patch", "x.trace"), "--patch goes with --local"),
        (("--local", "--apart", "x", "x.trace"), "--apart goes without --local"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    done = called(tmp_path, "advise", *words)
    assert done.returncode == 2
    assert line in done.stderr
