"""Whose program CPython runs is told that malloc sees few of its objects."""

import sys
from pathlib import Path

import pytest
from subprocesses import executable

from heaplab.comparison.program_experiment import PYTHON_NOTE, note_on


def script(folder: Path, first_line: str) -> str:
    return str(executable(folder / "script", f"{first_line}\n"))


@pytest.fixture(autouse=True)
def default_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONMALLOC", raising=False)


def test_the_interpreter_itself_is_recognised() -> None:
    assert note_on(sys.executable) == PYTHON_NOTE


def test_a_script_is_recognised_by_its_first_line(tmp_path: Path) -> None:
    assert note_on(script(tmp_path, f"#!{sys.executable}")) == PYTHON_NOTE
    assert note_on(script(tmp_path, "#!/usr/bin/env python3")) == PYTHON_NOTE


def test_other_programs_are_not(tmp_path: Path) -> None:
    assert note_on("/bin/sh") == ""
    assert note_on(script(tmp_path, "#!/bin/sh")) == ""
    assert note_on("no-such-program") == ""


def test_who_set_the_allocator_of_python_needs_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    assert note_on(sys.executable) == ""
