"""`heaplab run --all-publications` at a small scale: two figures of a publication that is not heaplab's."""

from pathlib import Path

import pytest
from laboratory import WARM, Laboratory

from heaplab.campaign import store
from heaplab.catalog import native
from heaplab.records import End

PUBLICATIONS = """
[paper]
title = "A paper"
source = "A test"
figures = 2
tables = 1
[[paper.parts]]
figures = [1]
shows = "one against the other"
experiment = "fake/one"
[[paper.parts]]
figures = [2]
shows = "once against twice"
experiment = "compared/one"
[[paper.parts]]
tables = [1]
shows = "the settings"
why_none = "nothing to measure"
"""


@pytest.fixture
def paper(lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    """A laboratory whose only publication has two figures and a table."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    for folder in native.catalog().iterdir():
        if folder.is_dir():
            (shipped / folder.name).symlink_to(folder)
    (shipped / "publications.toml").write_text(PUBLICATIONS)
    monkeypatch.setattr(native, "catalog", lambda: shipped)
    return lab


def run_all(paper: Laboratory, *words: object) -> tuple[int, str]:
    arms = ["--allocators", "glibc,llheap"]
    return paper.heaplab("run", "--all-publications", *arms, *WARM, "-o", paper.out, *words)


def test_every_figure_gets_a_campaign_and_the_same_command_goes_on(paper: Laboratory) -> None:
    status, printed = run_all(paper)
    assert status == 0, printed
    assert "0 of 2 experiments complete" in printed
    # Figure 1: 2 cells under 2 allocators and the control; figure 2: 2 cells with 2 values and the control.
    assert "forecast for 2 experiments: 60 to 60 runs" in printed
    assert store.load(paper.out / "fake/one").campaign.allocators == ["glibc", "llheap"]
    assert store.load(paper.out / "compared/one").campaign.allocators == ["glibc"]
    page = (paper.out / "reproduction.md").read_text()
    assert "| Figure 1 | one against the other | `fake/one` |" in page
    assert "[picture](reproduction/compared-one.md)" in page
    assert "| Table 1 | the settings | none: nothing to measure |" in page
    assert (paper.out / "reproduction/fake-one-1.svg").read_text().startswith("<svg")

    complete = (paper.out / "fake/one" / store.FILE_NAME).read_bytes()
    cut = paper.out / "compared/one" / store.FILE_NAME
    lines = cut.read_text().splitlines(keepends=True)
    spent = [*lines[:20], End(reason="budget").model_dump_json() + "\n"]
    cut.write_text("".join(spent))
    status, printed = run_all(paper)
    assert status == 0, printed
    assert "1 of 2 experiments complete" in printed
    assert "forecast for 1 experiment: " in printed
    assert (paper.out / "fake/one" / store.FILE_NAME).read_bytes() == complete
    assert cut.read_text().startswith("".join(spent))
    end = store.load(cut).end
    assert end is not None
    assert end.reason != "budget"
    assert not list(cut.parent.glob("results-*"))


def test_what_cannot_be_combined_is_refused(paper: Laboratory) -> None:
    for words, named in (
        (["--resume", paper.out], "--resume"),
        (["--factorial", "glibc MALLOC_ARENA_MAX=|1 thp=|never"], "--factorial"),
        (["--show-command"], "--show-command"),
        (["--json"], "--json"),
        (["fake/one"], "no experiment"),
    ):
        status, printed = run_all(paper, *words)
        assert status == 2, (words, printed)
        assert named in printed
