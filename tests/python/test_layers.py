"""tools/check_layers.py finds what it must find, and nothing in heaplab itself."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "LAYERS.md", tmp_path)
    for header in (
        "src/base/bits.h",
        "src/shim/api.h",
        "src/shim/heap_concept.h",
        "src/allocators/one/heap.h",
        "src/allocators/two/heap.h",
    ):
        (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / header).write_text("")
    (tmp_path / "include/heaplab").mkdir(parents=True)
    (tmp_path / "include/heaplab/one.h").write_text("")
    for module in (
        "stats/ratios",
        "stats/stopping_rule",
        "campaign/store",
        "campaign/plan",
        "catalog/spec",
        "errors",
    ):
        (tmp_path / f"python/heaplab/{module}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"python/heaplab/{module}.py").write_text("import math\n")
    return tmp_path


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
        ("src/shim/heap_concept.h", '#include "shim/api.h"'),
        ("src/allocators/one/library.cpp", '#include "allocators/two/heap.h"'),
        ("src/workloads/acdc/main.cpp", '#include "allocators/one/heap.h"'),
        ("src/workloads/acdc/main.cpp", "#  include <heaplab/one.h>"),
        ("src/probes/clock.h", '#include "no/such/file.h"'),
        ("include/heaplab/two.h", '#include "base/bits.h"'),
        ("src/elsewhere/new.h", '#include "base/bits.h"'),
        ("python/heaplab/stats/stopping_rule.py", "from heaplab.campaign import plan"),
        ("python/heaplab/stats/stopping_rule.py", "from heaplab.report.html import write"),
        ("python/heaplab/stats/ratios.py", "from heaplab.stats import stopping_rule"),
        ("python/heaplab/stats/ratios.py", "from heaplab.stats.stopping_rule import PRECISION"),
        ("python/heaplab/stats/unlisted.py", "import math"),
        ("python/heaplab/analysis/study.py", "from heaplab.campaign import plan"),
        ("python/heaplab/campaign/store.py", "import heaplab.cli"),
        ("python/heaplab/campaign/store.py", "from . import records"),
    ],
)
def test_a_use_without_an_arrow_is_found(project: Path, path: str, line: str) -> None:
    target = project / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{line}\n")
    result = check(project)
    assert result.returncode == 1
    assert path in result.stderr


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/allocators/one/library.cpp", '#include "shim/api.h"'),
        ("src/allocators/one/library.cpp", '#include "allocators/one/heap.h"'),
        ("src/allocators/one/size.h", '#include "base/bits.h"'),
        ("src/allocators/one/size.h", '#include "shim/heap_concept.h"'),
        ("src/shim/bind.h", '#include "shim/heap_concept.h"'),
        ("src/base/other.h", '#include "base/bits.h"'),
        ("src/base/other.h", "#include <cstddef>"),
        ("python/heaplab/campaign/runner.py", "from heaplab.campaign import plan"),
        ("python/heaplab/campaign/runner.py", "from heaplab.errors import UsageError"),
        ("python/heaplab/stats/stopping_rule.py", "from heaplab.stats.ratios import compare"),
        ("python/heaplab/stats/__init__.py", "from heaplab.stats.stopping_rule import PRECISION"),
        ("python/heaplab/analysis/study.py", "from heaplab.campaign.store import Results"),
    ],
)
def test_a_use_along_an_arrow_is_let_pass(project: Path, path: str, line: str) -> None:
    target = project / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{line}\n")
    result = check(project)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("| `src/base` | |", "src/shim"),
        ("| `stats` | `errors`, `lazy` |", "report"),
        ("| `errors` | |", "errors"),
    ],
)
def test_a_row_that_names_no_part_above_is_found(project: Path, row: str, named: str) -> None:
    layers = project / "LAYERS.md"
    part = row.split("`")[1]
    assert row in layers.read_text()
    layers.write_text(layers.read_text().replace(row, f"| `{part}` | `{named}` |"))
    result = check(project)
    assert result.returncode == 1
    assert f"`{part}` names `{named}`" in result.stderr


def test_a_missing_table_is_said(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 2
