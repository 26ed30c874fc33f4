"""One process at a time writes results into a folder; the lock of a process that died is gone."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Laboratory, refusal, success
from subprocesses import until

from heaplab.campaign import begin_or_resume
from heaplab.campaign.begin_or_resume import Request
from heaplab.comparison.planned_experiment import PlannedExperiment
from heaplab.errors import UsageError
from heaplab.results.store import FILE_NAME, ResultsLock

HOLDS = (
    "import sys, time; from heaplab.results.store import FILE_NAME, ResultsLock; from pathlib import Path\n"
)
HOLDS += "lock = ResultsLock(Path(sys.argv[1]) / FILE_NAME); print(flush=True); time.sleep(600)"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Another process has the lock of the folder, and is killed at the end."""
    with subprocess.Popen([sys.executable, "-c", HOLDS, folder], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout
            child.stdout.readline()
            yield
        finally:
            child.kill()


def test_a_lock_is_given_back_by_its_holder_and_by_its_death(tmp_path: Path) -> None:
    ResultsLock(tmp_path / FILE_NAME).release()
    with locked(tmp_path), pytest.raises(UsageError, match="another heaplab is measuring into this folder"):
        ResultsLock(tmp_path / FILE_NAME)
    until(lambda: ResultsLock(tmp_path / FILE_NAME).release() is None, "the lock")


@pytest.mark.parametrize("how", ["run again", "resume"])
def test_the_second_at_one_folder_is_refused_and_changes_nothing(half_done: Laboratory, how: str) -> None:
    before = (half_done.out / FILE_NAME).read_bytes()
    go_on = ["compare", "--resume", half_done.out, *half_done.own]
    with locked(half_done.out):
        said = refusal(half_done.run() if how == "run again" else half_done.heaplab(*go_on))
    assert f"{half_done.out}: another heaplab is measuring into this folder" in said
    assert (half_done.out / FILE_NAME).read_bytes() == before
    assert [path.name for path in half_done.out.iterdir()] == [FILE_NAME]
    success(half_done.run())


def test_a_refused_folder_stays_unlocked(half_done: Laboratory) -> None:
    (half_done.out / FILE_NAME).write_text("no results\n")
    for _ in range(2):
        assert "not a results file" in refusal(half_done.run())


def test_experiments_of_publications_are_read_under_the_lock(
    half_done: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_path: Path, _request: object) -> None:
        with pytest.raises(UsageError, match="another heaplab is measuring into this folder"):
            ResultsLock(half_done.out / FILE_NAME)
        raise UsageError("read")

    monkeypatch.setattr(begin_or_resume, "earlier", read)
    request = Request(experiments=[], workloads={}, libraries=[], scale="quick", command=["heaplab"])
    planned = PlannedExperiment(request, half_done.out, "quick")
    with pytest.raises(UsageError, match="read"):
        planned.opened(None, "")
    ResultsLock(half_done.out / FILE_NAME).release()


def test_shards_of_one_folder_have_a_lock_each(tmp_path: Path) -> None:
    first = ResultsLock(tmp_path / "0001-ab.n1.jsonl")
    other = ResultsLock(tmp_path / "0002-cd.n2.jsonl")
    with pytest.raises(UsageError, match=r"0001-ab\.n1\.jsonl: another heaplab is measuring this shard here"):
        ResultsLock(tmp_path / "0001-ab.n1.jsonl")
    first.release()
    other.release()
