"""Every tool explains itself with an example, which also shows that what it imports is there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# A file without a line for the system that starts programs is a module of the others.
ROOT = Path(__file__).parents[3]
EVERY = sorted([*ROOT.glob("tools/*.py"), *ROOT.glob("research/*.py")])
TOOLS = [path for path in EVERY if path.read_text().startswith("#!")]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_shows_what_it_takes_and_an_example(tool: Path) -> None:
    assert os.access(tool, os.X_OK)
    done = subprocess.run([sys.executable, tool, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"Example[^\n]*:\s+{tool.relative_to(ROOT)}\b", done.stdout)
