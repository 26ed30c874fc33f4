"""Libraries in folders that the loader would take for several."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from laboratory import WARM, Laboratory

from heaplab.errors import UsageError
from heaplab.machine import preload

NAMES = ["with space", "with:colon", "with;semicolon"]


@pytest.fixture(params=NAMES)
def divided(request: pytest.FixtureRequest, tmp_path: Path, libraries: dict[str, Path]) -> Path:
    """A library in such a folder."""
    folder = tmp_path / request.param
    folder.mkdir()
    return Path(shutil.copy(libraries["slow"], folder))


def test_an_allocator_in_such_a_folder_is_measured(lab: Laboratory, divided: Path) -> None:
    own = ["--allocator", f"mine={divided}", "--allocators", "glibc,mine"]
    status, printed = lab.heaplab("run", "fake/one", *own, *WARM, "-o", lab.out)
    assert status == 0, printed
    assert lab.good("mine")
    assert lab.results().libraries["mine"].preload == [str(divided)]


def test_the_loader_takes_the_link_and_finds_the_library(divided: Path) -> None:
    path = preload.loadable(str(divided))
    assert not preload.divided(path)
    assert preload.loadable(str(divided)) == path
    maps = subprocess.run(
        ["cat", "/proc/self/maps"],
        env=os.environ | {"LD_PRELOAD": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert maps.stderr == ""
    assert str(divided) in maps.stdout


def test_a_file_name_that_cannot_be_preloaded_is_refused(lab: Laboratory, divided: Path) -> None:
    named = divided.rename(divided.with_name(f"lib{divided.parent.name}.so"))
    status, printed = lab.heaplab("compare", "--allocator", f"mine={named}", "--", "ls")
    assert status == 2
    assert "with a colon, semicolon or space in its name" in printed


@pytest.mark.parametrize("planted", ["link", "open"])
def test_a_folder_that_another_user_could_fill_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"heaplab-{os.getuid()}"
    if planted == "link":
        folder.symlink_to(tmp_path)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(UsageError, match="in the way"):
        preload.loadable("/with space/lib.so")
