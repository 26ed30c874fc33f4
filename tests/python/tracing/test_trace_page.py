"""What people see of a trace: the page and the terminal."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from traces import Event, profile_of, two_threads

from heaplab.traces import tool
from heaplab.traces.profile import Life, Passed, Profile, of_process
from heaplab.tracing import (
    findings,
    trace_page,
    trace_summary,
    trace_tables as tables,
    trace_terminal as terminal,
)

MALLOC, FREE, REALLOC_TO, REALLOC_FROM, BEGIN = 1, 32, 3, 35, 64


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return profile_of(tmp_path / "x.trace", two_threads())


def growing() -> list[Event]:
    """A block of 8 B, reallocated to 16 B, 32 B and 64 B; its second move is to the same place."""
    return [
        Event(0, 1, BEGIN),
        Event(1, 1, MALLOC, 4096, 8),
        *(Event(2, 1, REALLOC_FROM, 4096), Event(3, 1, REALLOC_TO, 8192, 16)),
        *(Event(4, 1, REALLOC_FROM, 8192), Event(5, 1, REALLOC_TO, 8192, 32)),
        *(Event(6, 1, REALLOC_FROM, 8192), Event(1_000_006, 1, REALLOC_TO, 4096, 64)),
        Event(1_000_007, 1, MALLOC, 65536, 7),
    ]


def text_of(table: tables.Table) -> dict[str, dict[str, str]]:
    return {
        name: {column: entry.text for column, entry in zip(table.columns, row, strict=True) if entry.text}
        for name, row in table.rows
    }


def test_the_page_has_every_part_and_needs_nothing_else(profile: Profile, tmp_path: Path) -> None:
    trace_page.write_html(profile, ["half of it is <lost>"], tmp_path / "x.html")
    html = (tmp_path / "x.html").read_text()
    headings = re.findall(r"<h2>(.*?)</h2>", html)
    assert headings == [
        "Live memory",
        "How fast memory is acquired",
        "Sizes and lifetimes",
        "Who releases whose blocks",
        "Calls",
    ]  # the trace has neither call sites nor reallocations
    assert html.count("<svg") == 4
    assert "half of it is &lt;lost&gt;" in html
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?!#)', html)


def test_what_is_said_in_short_is_what_happened(profile: Profile) -> None:
    shown = Console(width=120, record=True, file=io.StringIO())
    terminal.print_profile(profile, shown)
    text = shown.export_text()
    assert "At most 215 B live in 1 block," in text
    assert "25 % of all blocks are released by another thread" not in text
    assert "50 % of all blocks are released by another thread" in text
    assert "0 B live in 0 blocks" in text


def test_instructions_are_told_for_each_call() -> None:
    summary = {"instructions": "1000000", "acquisitions": "3", "releases": "1"}
    process = {"process": {"pid": "7"}, "summary": summary, "events": 4}
    assert ("instructions", "1,000,000, 250000 for each call") in trace_summary.of_process(process)
    assert "not counted" not in dict(trace_summary.of_process(process))
    del summary["instructions"]
    summary["uncounted_threads"] = "2"
    told = dict(trace_summary.of_process(process))
    assert "instructions" not in told
    assert told["not counted"] == "instructions of 2 threads, at least in part"


def test_who_releases_whose_blocks(profile: Profile) -> None:
    assert text_of(tables.threads(profile)) == {"1": {"1": "250", "2": "250"}, "2": {}}


def test_blocks_that_lived_before_are_told_apart(profile: Profile) -> None:
    before = [Passed(0, 1, 3, 96), Passed(0, 0, 1, 4)]
    lives = [*profile.lives, Life(5, 3, 4, 100)]
    window = replace(profile, threads=[*profile.threads, *before], lives=lives)
    said, said_of_whole = dict(findings.findings(window)), dict(findings.findings(profile))
    assert said["Lived before"] == "100 B in 4 blocks."
    assert "Lived before" not in said_of_whole
    assert said["Acquired"] == said_of_whole["Acquired"]
    assert said["Threads"].startswith("50 % of all blocks")
    assert text_of(tables.threads(window))["lived before"] == {"1": "3", "nobody": "1"}


def test_many_threads_are_joined(tmp_path: Path) -> None:
    events = [
        event
        for thread in range(1, 31)
        for event in (
            Event(10 * thread, thread, BEGIN),
            *(Event(10 * thread, thread, MALLOC, (100 * thread + n) * 16, 8) for n in range(thread)),
        )
    ]
    table = tables.threads(profile_of(tmp_path / "x.trace", events))
    assert table.columns == [*map(str, range(19, 31)), "others", "nobody"]
    assert text_of(table)["others"] == {"nobody": str(sum(range(1, 19)))}


def test_sizes_by_lifetimes(profile: Profile) -> None:
    blocks, in_bytes = tables.lives(profile)
    assert blocks.columns == ["below 1 µs", "at the end"]
    found = text_of(blocks)
    assert sum(int(row["below 1 µs"]) for row in found.values()) == 500
    assert found["16"] == {"below 1 µs": "3"}
    assert text_of(in_bytes)["16"] == {"below 1 µs": "48 B"}


def test_reallocations_are_chains(tmp_path: Path) -> None:
    profile = profile_of(tmp_path / "x.trace", growing())
    assert profile.growths[:4] == (3, 2, 8 + 32, 0)
    half = {"blocks": "1", "share": "50 %"}
    assert text_of(tables.chains(profile)) == {"0": half, "2 to 3": half}
    assert tables.lives(profile)[0].columns[-2:] == ["below 1 µs", "at the end"]
    assert profile.kinds["realloc"] == 3


def test_one_is_no_plural(tmp_path: Path) -> None:
    profile = profile_of(tmp_path / "x.trace", growing())
    once = replace(profile, growths=profile.growths._replace(calls=1))
    assert findings.reallocated(once).startswith("1 reallocation;")
    assert findings.reallocated(profile).startswith("3 reallocations;")


def test_call_sites_are_ordered_by_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(
        "= Start\n"
        + "@ a:(many)[0x1] + 0x10 0x8\n@ a:(many)[0x1] - 0x10\n" * 20
        + "@ a:(large)[0x2] + 0x20 0x1000\n@ a:(large)[0x2] - 0x20\n"
        + "@ a:(left)[0x3] + 0x30 0x64\n"
    )
    with (tmp_path / "text").open("rb") as text:
        tool.import_(lambda to: to.write(text.read()) and None, "text", tmp_path / "x.trace")
    profile = of_process(tmp_path / "x.trace", tool.summary(tmp_path / "x.trace"), 0)
    firsts = {order.column: text_of(tables.sites(profile, order)) for order in tables.ORDERS}
    assert next(iter(firsts["bytes"].values()))["bytes"] == "4.00 KiB"
    assert next(iter(firsts["blocks"].values()))["blocks"] == "20"
    assert next(iter(firsts["at the peak"].values()))["at the peak"] == "4.00 KiB"
    assert [row["at the end"] for row in firsts["at the end"].values()] == ["100 B"]
    assert firsts["moved"] == {}


def test_a_course_shows_every_peak() -> None:
    values = [0] * 1000
    values[777] = 5
    assert terminal.course(values).count("█") == 1
    assert len(terminal.course(values)) <= terminal.ACROSS
    assert terminal.course([]) == terminal.course([0, 0]) == "nothing"
