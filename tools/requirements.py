#!/usr/bin/env python3
"""Print what pyproject.toml needs to build, run and test, one requirement a line.

The virtual environment gets all of it at once, so that `pip install --no-build-isolation` can reuse the
build folder. Example: tools/requirements.py pyproject.toml
"""

import argparse
import tomllib
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("project", type=Path, help="a pyproject.toml")
project = tomllib.loads(parser.parse_args().project.read_text())
tables = (
    project["build-system"]["requires"],
    project["project"]["dependencies"],
    project["project"]["optional-dependencies"]["test"],
)
print("\n".join(requirement for table in tables for requirement in table))
