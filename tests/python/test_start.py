"""What a command imports before it does its work: seconds of CPU, if it is too much."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPUTING = {"numpy", "scipy", "matplotlib", "jinja2"}
WITH_RECORDS = {"pydantic", "elftools"}
IMPORTED = """
import sys
from heaplab.cli import main
sys.argv[0] = "heaplab"
try:
    main()
except SystemExit as end:
    print(end.code, *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported_by(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, check=False
    )
    status, *modules = done.stderr.splitlines()[-1].split()
    assert status == "0", done.stderr
    return set(modules)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["compare", "--help"],
        ["report", "--help"],
        ["list", "suites"],
        ["doctor"],
        ["get", "glibc"],
    ],
)
def test_what_computes_nothing_does_not_wait_for_what_computes(words: list[str]) -> None:
    assert not imported_by(*words) & COMPUTING


def test_a_path_needs_no_tables() -> None:
    assert not imported_by("path", "acdc") & (COMPUTING | {"rich", "psutil"})


def test_the_version_needs_nothing() -> None:
    assert not imported_by("--version") & (COMPUTING | WITH_RECORDS | {"rich", "psutil"})


def test_a_home_that_cannot_be_written_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    around = {name: value for name, value in os.environ.items() if name not in ("MPLCONFIGDIR",)}
    homeless = around | {
        name: str(tmp_path / "file") for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    }
    code = "import heaplab.report; heaplab.report.write_html"
    done = subprocess.run(
        [sys.executable, "-c", code], env=homeless, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
