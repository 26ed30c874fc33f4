"""An atlas of campaigns that never ran: what is compared over time, and what the pages lead to."""

import re
from collections.abc import Callable
from datetime import date
from math import exp, log
from pathlib import Path
from urllib.parse import unquote

import pytest
import synthetic
from laboratory import COMMANDS, call, refusal
from over_days import NAMES, read, records, site_of

from heaplab.atlas import atlas_files, over_time, regressions
from heaplab.atlas.atlas_pages import AtlasSite
from heaplab.atlas.many_campaigns import Atlas, gathered
from heaplab.files.regular_file import content_of
from heaplab.report.pictures import palette
from heaplab.stats import GateVerdict, Interval, independent_quotient

pytestmark = pytest.mark.slow

Write = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(day: int, **how: object) -> Path:
        return synthetic.write(records(day, **how), tmp_path / f"{day}" / "results.jsonl")

    return write


def verdicts(*paths: Path) -> dict[tuple[str, str], GateVerdict]:
    """On every change of a build, by allocator and measure."""
    changes = AtlasSite(Atlas(map(read, paths)), {}).changes
    return {(change.new.ratio.allocator, change.new.ratio.measure): change.verdict for change in changes}


def test_a_campaign_becomes_one_ratio_for_each_experiment_measure_and_allocator(written: Write) -> None:
    campaign = read(written(3))
    found = {(ratio.measure, ratio.allocator): ratio.judged.ratio for ratio in campaign.ratios}
    assert set(found) == {(measure, name) for measure in ("time", "memory") for name in NAMES[1:]}
    assert found["memory", "mimalloc"].low < 1.31 < found["memory", "mimalloc"].high
    assert campaign.machine == "Example CPU at 2.4 GHz, 2 CPUs, 8 GiB"
    assert campaign.versions == {"glibc": "2.36", "jemalloc": "5.3.0", "mimalloc": "1.0"}
    assert campaign.experiments["laws"].again == (
        "heaplab compare --experiment laws --scale quick --allocators glibc,jemalloc,mimalloc"
    )


def test_around_a_single_campaign_the_axis_shows_days_and_not_years(written: Write) -> None:
    atlas = Atlas([read(written(3))])
    line = [ratio for ratio in atlas.ratios if ratio.ratio.allocator == "jemalloc"][:1]
    drawing = over_time.over_time("a ratio", {"": {"jemalloc": line}}, palette.styles(NAMES))
    dates = [date.fromisoformat(found) for found in re.findall(r">(\d{4}-\d\d-\d\d)<", drawing.svg)]
    measured = date.fromisoformat(atlas.campaigns[0].date)
    assert dates
    assert max(abs((each - measured).days) for each in dates) <= over_time.DAYS_LEAST


@pytest.mark.parametrize("command", ["heaplab compare --allocator mine=./libmine.so", "heaplab gate a b"])
def test_arms_that_a_command_names_itself_are_repeated_by_that_command(
    written: Write, tmp_path: Path, command: str
) -> None:
    head, *rest = records(3)
    own = head.model_copy(update={"command": command.split()})
    campaign = read(synthetic.write([own, *rest], tmp_path / "own.jsonl"))
    assert campaign.experiments["laws"].again == command


def test_a_build_that_is_worse_than_the_one_before_is_named(written: Write) -> None:
    slow = written(4, version="1.1", slower=1.2)
    assert verdicts(written(3), slow) == {
        ("mimalloc", "time"): GateVerdict.WORSE,
        ("mimalloc", "memory"): GateVerdict.NOT_WORSE,
    }
    assert verdicts(written(3), written(4, version="1.1"))["mimalloc", "time"] is GateVerdict.NOT_WORSE


@pytest.mark.parametrize("other", [{"version": "1.0"}, {"kernel": "6.2"}, {"baseline": "2.40"}])
def test_only_builds_are_compared_and_only_where_all_else_is_equal(written: Write, other: dict) -> None:
    """The same build, another kernel, another baseline."""
    assert verdicts(written(3), written(4, **({"version": "1.1", "slower": 1.2} | other))) == {}


def test_noise_that_exceeds_the_limit_gives_no_verdict(written: Write) -> None:
    noisy = [written(day, version=f"1.{day}", slower=1 + day / 50, noise=0.2) for day in (3, 4)]
    assert verdicts(*noisy)["mimalloc", "time"] is GateVerdict.COULD_NOT_TELL


def test_too_few_blocks_give_no_verdict(written: Write) -> None:
    few = [written(day, version=f"1.{day}", slower=day / 3, blocks=2) for day in (3, 4)]
    assert set(verdicts(*few).values()) == {GateVerdict.COULD_NOT_TELL}


def test_a_build_is_compared_by_its_last_campaign(written: Write) -> None:
    paths = [written(3), written(4, slower=1.2), written(5, version="1.1", slower=1.2)]
    assert verdicts(*paths)["mimalloc", "time"] is GateVerdict.NOT_WORSE


def test_a_campaign_that_is_given_twice_counts_once(written: Write) -> None:
    path = written(3)
    assert len(gathered([path, path.parent]).campaigns) == 1


def test_the_errors_of_independent_ratios_add_as_squares() -> None:
    half = 0.1
    doubled = Interval(2.0, 2.0 * exp(-half), 2.0 * exp(half), 8)
    other = Interval(1.0, exp(-half), exp(half), 6)
    found = independent_quotient(doubled, other)
    assert found.estimate == 2.0
    assert found.count == 6
    assert log(found.high / 2) == pytest.approx(half * 2**0.5)
    assert log(2 / found.low) == pytest.approx(half * 2**0.5)
    assert not independent_quotient(doubled, Interval(1.0)).bounded


def test_every_link_leads_to_a_place_that_exists(written: Write, tmp_path: Path) -> None:
    site = site_of([written(3), written(4, version="1.1", slower=1.2)], tmp_path / "site")
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    folders = sorted(page.relative_to(site).parts[0] for page in pages)
    assert folders == [*["allocators"] * 3, "index.html", "machines", "workloads"]
    looked_at = 0
    for page, text in pages.items():
        for href in re.findall(r'<a href="([^"]+)"', text):
            path, _, place = unquote(href).partition("#")
            target = (page.parent / path).resolve()
            assert target.is_file(), (page, href)
            assert not place or f'id="{place}"' in pages[target], (page, href)
            looked_at += 1
    assert looked_at > 30
    first = pages[site / "index.html"]
    assert "1.20×" in first.partition("Regressions")[2].partition("Allocators</h2>")[0]
    assert "heaplab compare -o out/compare" in first


def test_names_become_file_names_and_stay_apart() -> None:
    names = ["glibc", "a/b", "a b", "../x", "é"]
    files = [atlas_files.file_name(name) for name in names]
    assert files[0] == "glibc"
    assert len(set(files)) == len(names)
    assert not any("/" in file or file.startswith(".") for file in files)


def test_the_command_writes_the_site_or_names_what_is_no_results(written: Write, tmp_path: Path) -> None:
    status, printed = call("atlas", written(3), written(4), "-q", "-o", tmp_path / "site")
    assert (status, printed.strip()) == (0, str(tmp_path / "site/index.html"))
    (tmp_path / "page.txt").write_text("nothing")
    printed = refusal(call("atlas", tmp_path / "page.txt", "-q", "-o", tmp_path / "other"))
    assert "page.txt: not a results file of heaplab" in printed
    assert not (tmp_path / "other/index.html").exists()


def test_the_limits_are_those_of_the_gate() -> None:
    defaults = {option.name: option.default for option in COMMANDS["gate"].params}
    shares = {"time": defaults["max_slower"], "memory": defaults["max_memory"]}
    assert {measure: f"{limit:.0%}" for measure, limit in regressions.LIMITS.items()} == shares


@pytest.mark.long
def test_the_entries_that_heaplab_ships_make_a_small_site(tmp_path: Path) -> None:
    entries = sorted((Path(__file__).parents[3] / "docs/atlas").glob("*.jsonl.xz"))
    assert entries
    atlas = gathered(entries)
    atlas_files.write(atlas, tmp_path)
    for campaign in atlas.campaigns:
        assert campaign.ratios
        for name in campaign.builds:
            assert (tmp_path / "allocators" / f"{name}.html").is_file()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.html")) < 1.3e6 * len(entries)
    for path in entries:  # a line is a run
        small = 80 * len(content_of(path).splitlines())
        assert path.stat().st_size < small, f"atlas_entry.py keeps {path.name} small"
