"""Libraries in folders that the loader would take for several."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from laboratory import Laboratory, refusal
from subprocesses import ran

from heaplab.catalog import locate
from heaplab.catalog.contents import Catalog
from heaplab.errors import UsageError
from heaplab.machine import interposition, preload_paths
from heaplab.machine.execute import environment_for

NAMES = ["with space", "with:colon", "with;semicolon"]


@pytest.fixture(params=NAMES)
def divided(request: pytest.FixtureRequest, tmp_path: Path, libraries: dict[str, Path]) -> Path:
    """A library in such a folder."""
    folder = tmp_path / request.param
    folder.mkdir()
    return Path(shutil.copy(libraries["slow"], folder))


def test_an_allocator_in_such_a_folder_serves_a_program(divided: Path) -> None:
    library = locate.locate(Catalog().with_library("mine", divided), "mine")
    assert library.preload == [str(divided)]
    environment = environment_for(library)
    assert interposition.fault_of_program(Path("/bin/ls"), environment, library) == ""


def test_the_loader_takes_the_link_and_finds_the_library(divided: Path) -> None:
    path = preload_paths.loadable(str(divided))
    assert not preload_paths.divided(path)
    assert preload_paths.loadable(str(divided)) == path
    maps = ran("cat", "/proc/self/maps", env=os.environ | {"LD_PRELOAD": path}, check=True)
    assert maps.stderr == ""
    assert str(divided) in maps.stdout


def test_a_file_name_that_cannot_be_preloaded_is_refused(lab: Laboratory, divided: Path) -> None:
    named = divided.rename(divided.with_name(f"lib{divided.parent.name}.so"))
    printed = refusal(lab.heaplab("compare", "--allocator", f"mine={named}", "--", "ls"))
    assert "with a colon, semicolon or space in its name" in printed


@pytest.mark.parametrize("planted", ["link", "file", "open"])
def test_a_folder_that_another_user_could_fill_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"heaplab-{os.getuid()}"
    match planted:
        case "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "elsewhere")
        case "file":
            folder.touch()
        case "open":
            folder.mkdir()
            folder.chmod(0o777)
    with pytest.raises(UsageError, match="it is to hold links for the loader"):
        preload_paths.loadable("/with space/lib.so")
