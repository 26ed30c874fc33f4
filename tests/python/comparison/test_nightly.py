"""`heaplab atlas --nightly` night after night: a campaign more, and what changed."""

from pathlib import Path

import pytest
import synthetic
from laboratory import Laboratory, cut_off, success
from over_days import read, records

from heaplab.atlas.many_campaigns import Atlas
from heaplab.comparison.run_nightly import changed
from heaplab.report.page import report_page
from heaplab.results import store
from heaplab.results.records import AnyRecord, Timing


def night(lab: Laboratory) -> str:
    words = ["--suite", "fake", "--allocators", "glibc,llheap", "--budget", "60s", "-q"]
    return success(lab.heaplab("atlas", "--nightly", *words, "-o", lab.out))


def test_each_night_adds_a_campaign_and_an_interrupted_one_is_finished_first(lab: Laboratory) -> None:
    assert night(lab).rstrip().endswith("the first campaign: nothing to compare with yet")
    (first,) = (lab.out / "campaigns").iterdir()
    results = first / store.FILE_NAME
    kept = cut_off(results, -3)
    assert night(lab).rstrip().endswith("the first campaign: nothing to compare with yet")
    assert results.read_bytes().startswith(kept)
    assert store.load(results).end is not None
    assert night(lab).rstrip().endswith("no build is new")
    assert len(list((lab.out / "campaigns").iterdir())) == 2
    assert "2 campaigns on 1 machine" in (lab.out / "site/index.html").read_text()


def test_an_interrupted_night_draws_nothing(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    append = store.Store.append

    def interrupted(self: store.Store, record: AnyRecord) -> None:
        if isinstance(record, Timing):  # after the first block
            raise KeyboardInterrupt
        append(self, record)

    monkeypatch.setattr(store.Store, "append", interrupted)
    monkeypatch.setattr(report_page, "write_html", lambda *_: pytest.fail("a page is drawn"))
    words = ["--suite", "fake", "--allocators", "glibc,llheap", "--budget", "60s", "-o", lab.out]
    status, printed = lab.heaplab("atlas", "--nightly", *words)
    (campaign,) = (lab.out / "campaigns").iterdir()
    assert (status, f"`heaplab report {campaign}` draws it" in printed) == (1, True)
    assert not (lab.out / "site").exists()


def said_of(folder: Path, *nights: list[AnyRecord]) -> list[str]:
    paths = [synthetic.write(night, folder / f"{number}.jsonl") for number, night in enumerate(nights)]
    return list(changed(Atlas(map(read, paths))))


def test_a_new_build_is_named_with_what_is_worse_under_it(tmp_path: Path) -> None:
    new, worse, counted = said_of(tmp_path, records(3), records(4, version="1.1", slower=1.2))
    assert new == "new: mimalloc 1.1, before 1.0"
    assert worse.startswith("worse: mimalloc, time of laws: 1.20× (1.")
    assert counted == "2 comparisons with the build before, 0 could not be told"


def test_a_new_build_of_which_nothing_was_measured_is_told_as_that(tmp_path: Path) -> None:
    first, second = records(3), records(4, version="1.1", slower=1.2)
    assert said_of(tmp_path, first, synthetic.only(second, lambda _: False)) == [
        "new: mimalloc 1.1, before 1.0",
        "nothing was measured under both builds",
    ]
