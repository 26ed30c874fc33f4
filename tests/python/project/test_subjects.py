"""tools/check_subjects.py refuses subjects of commits that do not say what is done where."""

import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import ran

TOOL = Path(__file__).parents[3] / "tools" / "check_subjects.py"


def check(message: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "message").write_text(message)
    return ran(sys.executable, TOOL, folder / "message")


@pytest.mark.parametrize(
    "message",
    ["recorder: reopen the file after EPERM\n\nBecause.", f"a: {'b' * 69}", 'Revert "recorder: reopen"'],
)
def test_a_good_subject_passes(message: str, tmp_path: Path) -> None:
    assert check(message, tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (f"a: {'b' * 70}", "73 characters, allowed are 72"),
        ("The recorder reopens the file", "is not `area: imperative`"),
        ("recorder: reopen the file.", "no full stop"),
        ("", "is not `area: imperative`"),
    ],
)
def test_a_bad_subject_is_named_with_what_is_allowed(message: str, says: str, tmp_path: Path) -> None:
    done = check(message, tmp_path)
    assert done.returncode == 1
    assert says in done.stderr


def test_without_a_repository_there_is_one_line(tmp_path: Path) -> None:
    done = ran(sys.executable, TOOL, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
