"""tools/check_atomics.py finds every atomic operation that need not name its order; heaplab has none."""

import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import ran, written

ROOT = Path(__file__).parents[3]


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, ROOT / "tools" / "check_atomics.py", root)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return written(tmp_path, {"src/base/atomic.h": "std::atomic<int> value_;\n"})


def check_with(project: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Check the project with one more file, of this line."""
    return check(written(project, {"src/base/other.h": f"#pragma once\n{line}\n"}))


def test_heaplab_keeps_its_own_rule() -> None:
    result = check(ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "std::atomic<int> count{0};",
        "std :: atomic<bool> stop;",
        "std::atomic_int count;",
        "std::atomic_flag taken;",
        "std::atomic_ref<int>(count).store(1);",
        "std::atomic_load(&count);",
        "using std::atomic;",
        'add("/*"); std::atomic<int> after_a_string;',
        "__atomic_store_n(&count, 1, __ATOMIC_SEQ_CST);",
        "__sync_synchronize();",
        "_Atomic int count;",
        "#include <stdatomic.h>",
    ],
)
def test_another_way_to_an_atomic_operation_is_found(project: Path, line: str) -> None:
    result = check_with(project, line)
    assert result.returncode == 1
    assert "src/base/other.h:2: " in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "atomic<int> count{0};",
        "heaplab::atomic<int> count{0};",
        "std::atomic_thread_fence(std::memory_order_acquire);",
        "std::atomic_signal_fence(std::memory_order_seq_cst);",
        "// unlike std::atomic<int>",
        "/* unlike\n std::atomic<int> */",
        'add("std::atomic");',
    ],
)
def test_what_names_its_order_is_let_pass(project: Path, line: str) -> None:
    result = check_with(project, line)
    assert result.returncode == 0, result.stderr


def test_a_root_without_the_types_is_said(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 2
