"""tools/check_layers.py and .importlinter find what they must find, and nothing in heaplab itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import ran, written

ROOT = Path(__file__).parents[3]


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, ROOT / "tools" / "check_layers.py", root)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "LAYERS.md", tmp_path)
    headers = (
        "src/base/bits.h",
        "src/shim/api.h",
        "src/allocators/one/heap.h",
        "src/allocators/two/heap.h",
        "include/heaplab/one.h",
    )
    return written(tmp_path, dict.fromkeys(headers, ""))


def check_with(project: Path, path: str, line: str) -> subprocess.CompletedProcess[str]:
    """Check the project with one more file, of this line."""
    return check(written(project, {path: f"{line}\n"}))


def test_heaplab_keeps_its_own_rule() -> None:
    result = check(ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/base/up.h", '#include "allocators/one/heap.h"'),
        ("src/allocators/one/sideways.h", '#include "../two/heap.h"'),
        ("src/allocators/one/heap.cpp", '#include "shim/api.h"'),
        ("src/shim/bind.h", '#include "allocators/one/heap.h"'),
        ("src/allocators/one/library.cpp", '#include "allocators/two/heap.h"'),
        ("src/workloads/acdc/main.cpp", '#include "allocators/one/heap.h"'),
        ("src/workloads/acdc/main.cpp", "#  include <heaplab/one.h>"),
        ("src/probes/clock.h", '#include "no/such/file.h"'),
        ("include/heaplab/two.h", '#include "base/bits.h"'),
        ("src/elsewhere/new.h", '#include "base/bits.h"'),
    ],
)
def test_a_use_without_an_arrow_is_found(project: Path, path: str, line: str) -> None:
    result = check_with(project, path, line)
    assert result.returncode == 1
    assert path in result.stderr


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/allocators/one/library.cpp", '#include "shim/api.h"'),
        ("src/allocators/one/library.cpp", '#include "allocators/one/heap.h"'),
        ("src/allocators/one/size.h", '#include "base/bits.h"'),
        ("src/shim/bind.h", '#include "base/bits.h"'),
        ("src/base/other.h", '#include "base/bits.h"'),
        ("src/base/other.h", "#include <cstddef>"),
    ],
)
def test_a_use_along_an_arrow_is_let_pass(project: Path, path: str, line: str) -> None:
    result = check_with(project, path, line)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("item", "named"), [("2. `src/base`\n", "src/shim"), ("1. `include/heaplab`\n", "include/heaplab")]
)
def test_an_item_that_names_no_part_above_is_found(project: Path, item: str, named: str) -> None:
    layers = project / "LAYERS.md"
    part = item.split("`")[1]
    assert item in layers.read_text()
    layers.write_text(layers.read_text().replace(item, f"{item.strip()}: `{named}`\n"))
    result = check(project)
    assert result.returncode == 1
    assert f"`{part}` names `{named}`" in result.stderr


def test_missing_lists_are_said(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 2


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"]
    around = os.environ | {"PYTHONPATH": str(folder / "python"), "COLUMNS": "200"}
    options = ["--config", str(ROOT / ".importlinter"), "--no-cache"]
    return ran(*command, *options, cwd=folder, env=around)


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """A copy of the Python front end."""
    shutil.copytree(ROOT / "python", tmp_path / "python")
    return tmp_path


def test_the_rooms_keep_their_order(rooms: Path) -> None:
    result = lint_imports(rooms)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("stats/stopping_rule", "from heaplab.report import print_summary"),
        ("stats/stopping_rule", "import heaplab.campaign.plan"),
        ("analysis/study", "from heaplab.campaign import plan"),
        ("results/store", "import heaplab.commands"),
        ("stats/interval", "from heaplab.stats import verdict"),
        ("unlisted", "import math"),
    ],
)
def test_an_import_against_the_order_is_found(rooms: Path, module: str, line: str) -> None:
    target = rooms / f"python/heaplab/{module}.py"
    with target.open("a") as file:
        file.write(f"\n{line}\n")
    result = lint_imports(rooms)
    assert result.returncode == 1
    assert module.rsplit("/", maxsplit=1)[-1] in result.stdout
