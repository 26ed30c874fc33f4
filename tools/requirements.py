#!/usr/bin/env python3
"""Print what pyproject.toml needs to build, run and test, one requirement a line.

The virtual environment gets all of it at once, so that `pip install --no-build-isolation` can reuse the
build folder. Usage: tools/requirements.py pyproject.toml
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text())
tables = (
    project["build-system"]["requires"],
    project["project"]["dependencies"],
    project["project"]["optional-dependencies"]["test"],
)
print("\n".join(requirement for table in tables for requirement in table))
