#!/usr/bin/env python3
"""Print what pyproject.toml needs to build, run and test, one requirement a line.

The virtual environment gets all of it at once, so that `pip install --no-build-isolation` can reuse the
build folder. With the name of an extra, print what that needs alone.
Examples: tools/requirements.py pyproject.toml; tools/requirements.py pyproject.toml wheel
"""

import argparse
import tomllib
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("project", type=Path, help="a pyproject.toml")
parser.add_argument("extra", nargs="?", help="an extra of the project")
arguments = parser.parse_args()
project = tomllib.loads(arguments.project.read_text())
extras = project["project"]["optional-dependencies"]
tables = [project["build-system"]["requires"], project["project"]["dependencies"], extras["test"]]
if arguments.extra:
    tables = [extras[arguments.extra]]
print("\n".join(requirement for table in tables for requirement in table))
