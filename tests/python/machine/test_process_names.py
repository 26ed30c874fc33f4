"""The name of a running program for people: that by which it was started."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heaplab.machine.process_tree import name_of

pytestmark = pytest.mark.starts_programs

SAYS = "; print(flush=True); input()"
TITLE = "import ctypes; ctypes.CDLL(None).prctl(15, b'other')"  # PR_SET_NAME


@contextmanager
def running(*command: str | Path, **more: str | Path) -> Iterator[int]:
    """The process of a program that has said a line."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more) as child:
        assert child.stdout
        child.stdout.readline()
        yield child.pid
        child.communicate(b"\n")


@pytest.mark.parametrize("link", ["short", "a name with blanks", "much-longer-than-the-kernel-keeps"])
def test_a_program_started_by_a_link_has_the_name_of_the_link(tmp_path: Path, link: str) -> None:
    (tmp_path / link).symlink_to(sys.executable)
    with running(tmp_path / link, "-Sc", "0" + SAYS) as pid:
        assert name_of(pid, Path("/usr/bin/file")) == link


def test_a_title_in_place_of_the_arguments_may_follow_the_name(tmp_path: Path) -> None:
    (tmp_path / "server").symlink_to(sys.executable)
    with running("./server 127.0.0.1:80", "-Sc", "0" + SAYS, executable=tmp_path / "server") as pid:
        assert name_of(pid, Path("/usr/bin/file")) == "server"


def test_a_program_that_gave_itself_another_name_has_that_of_its_file() -> None:
    with running(sys.executable, "-Sc", TITLE + SAYS) as pid:
        assert name_of(pid, Path("/usr/bin/file")) == "file"


def test_in_the_middle_of_an_exec_the_kernel_alone_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server").symlink_to(sys.executable)
    with running(tmp_path / "server", "-Sc", "0" + SAYS) as pid:
        monkeypatch.setattr(Path, "read_bytes", lambda _path: b"")
        assert name_of(pid, Path("/usr/bin/file")) == "server"
