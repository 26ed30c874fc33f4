"""Every tool explains itself with an example, which also shows that what it imports is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = sorted((Path(__file__).parent.parent.parent / "tools").glob("*.py"))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_shows_what_it_takes_and_an_example(tool: Path) -> None:
    done = subprocess.run([sys.executable, tool, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"Example: tools/{tool.name}\b", done.stdout)
