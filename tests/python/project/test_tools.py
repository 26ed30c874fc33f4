"""Every tool explains itself with an example, which also shows that what it imports is there."""

import os
import re
import runpy
import sys
from pathlib import Path

import pytest

# A file without a line for the system that starts programs is a module of the others.
ROOT = Path(__file__).parents[3]
EVERY = sorted([*ROOT.glob("tools/*.py"), *ROOT.glob("research/*.py")])
TOOLS = [path for path in EVERY if path.read_text().startswith("#!")]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_shows_what_it_takes_and_an_example(
    tool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert os.access(tool, os.X_OK)
    monkeypatch.setattr(sys, "argv", [str(tool), "--help"])
    monkeypatch.syspath_prepend(tool.parent)
    # In this process, where the libraries that many of them use are loaded once.
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(tool), run_name="__main__")
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    assert re.search(rf"Example[^\n]*:\s+{tool.relative_to(ROOT)}\b", printed.out)
