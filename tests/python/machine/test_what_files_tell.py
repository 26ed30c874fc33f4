"""What a program's file and its environment tell of mallocs and preloading."""

import os
import subprocess
from pathlib import Path

import pytest
from subprocesses import compiled, ran

from heaplab.machine.coverage.compiled_in import mallocs_in
from heaplab.machine.coverage.unseen import fault_of_file, has_preload, why_not_seen

pytestmark = pytest.mark.starts_programs

NAMES = {
    "_rjem_malloc": "jemalloc",
    "_rjem_mallocx": "jemalloc",
    "je_malloc": "jemalloc",
    "mi_malloc": "mimalloc",
    "mi_malloc_aligned": "mimalloc",
    "tc_malloc": "tcmalloc",
    "sn_rust_alloc": "snmalloc",
    "rpmalloc": "rpmalloc",
    "__rg_alloc": "a global allocator of Rust's",
}


@pytest.mark.parametrize(("function", "name"), NAMES.items())
def test_a_malloc_under_a_name_of_its_own_is_known_by_the_name(
    tmp_path: Path, function: str, name: str
) -> None:
    text = f"void* {function}(unsigned long n) {{ return (void*)n; }}\nint main(void) {{ return 0; }}"
    assert mallocs_in(compiled(tmp_path / "program", text)) == [name]


def test_a_stripped_file_is_known_by_messages_alone(tmp_path: Path) -> None:
    function = "void* je_malloc(unsigned long n) { return (void*)n; }\n"
    program = compiled(tmp_path / "quiet", function + "int main(void) { return je_malloc(0) != 0; }")
    ran("strip", program, check=True)
    assert mallocs_in(program) == []
    text = (
        function + '#include <stdio.h>\nint main(void) { puts("<jemalloc>: bad"); return je_malloc(0) != 0; }'
    )
    program = compiled(tmp_path / "telling", text)
    ran("strip", program, check=True)
    assert mallocs_in(program) == ["jemalloc"]


@pytest.mark.parametrize("content", ["", "jemalloc is good; my_mi_malloc too", "#!/bin/sh\nmi_malloc\n"])
def test_words_in_a_file_are_no_malloc(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content)
    assert mallocs_in(tmp_path / "file") == []
    assert mallocs_in(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("environment", "is_there"),
    [
        (b"", False),
        (b"PATH=/bin\0HOME=/\0", False),
        (b"PATH=/bin\0LD_PRELOAD=/lib/other.so\0", False),
        (b"LD_PRELOAD=/lib/x.so:/lib/y.so\0PATH=/bin\0", True),
        (b"nginx: worker process\0\0\0\0", True),
    ],
)
def test_a_cleared_environment_is_told_from_one_with_a_title_written_over(
    environment: bytes, is_there: bool
) -> None:
    assert has_preload(environment, "/lib/x.so") == is_there


def test_a_program_of_another_c_library_is_named(tmp_path: Path) -> None:
    loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"
    small = compiled(tmp_path / "small", "int main(void) { return 0; }", loader)
    assert fault_of_file(small, "small") == (
        "small has another C library than glibc (its loader is ld-musl-x86_64.so.1), which preloaded "
        "libraries need"
    )


def test_of_a_process_that_has_ended_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")  # what a read gets if the process ends before it
    with pytest.raises(OSError, match="exe"):
        why_not_seen(ended.pid, Path("/bin/true"), "true", ["/lib/libc.so.6"], "/none/librecorder.so")
    assert ended.wait() == 0
