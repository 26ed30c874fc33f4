"""The paths of heaplab's own programs, libraries and catalog.

They are part of the installed package (`heaplab/native`, laid out as under any prefix). The variable
HEAPLAB_NATIVE names another prefix, for work on heaplab itself: a build folder or an install tree.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from heaplab.errors import HeaplabError
from heaplab.machine.trim_setting import LIBRARY, TRIM
from heaplab.results.own_program import OwnProgram

PACKAGE = Path(__file__).parents[1]
LIBRARY_PREFIX = "libheaplab_"


def root() -> Path:
    return Path(os.environ.get("HEAPLAB_NATIVE") or PACKAGE / "native")


def catalog() -> Path:
    """The built-in catalog: the installed one, or that of the source tree which the package runs from."""
    installed = root() / "share" / "heaplab" / "catalog"
    return installed if installed.is_dir() else PACKAGE.parents[1] / "catalog"


def helper(name: str) -> Path | None:
    """A program that heaplab's commands run, and users do not."""
    path = root() / "libexec" / name
    return path if path.is_file() else None


def needed(path: Path | None, name: str) -> Path:
    """The path of a part without which a command cannot work. Raises HeaplabError if there is none."""
    if path is None:
        raise HeaplabError(f"{name} is missing: heaplab is not completely installed")
    return path


def mutator(language: str) -> Path:
    """The folder with the sources of a language's mutator: the installed one, or that of the source tree."""
    installed = root() / "share" / "heaplab" / "managed" / language
    return installed if installed.is_dir() else PACKAGE.parents[1] / "src" / "managed" / language


def program(own: OwnProgram) -> Path | None:
    path = root() / "bin" / own.name
    return path if path.is_file() else None


def named(name: str) -> Path | None:
    """The program or library of this name, which a user gave."""
    return program(OwnProgram(name)) or library(name)


def library(name: str) -> Path | None:
    """The library `libheaplab_NAME.so`; the dashes of a variant's name are underscores in the file's."""
    for spelling in (name, name.replace("-", "_")):
        path = root() / "lib" / f"{LIBRARY_PREFIX}{spelling}.so"
        if path.is_file():
            return path
    return None


def beside(environment: Mapping[str, str]) -> list[str]:
    """The libraries that an arm with these variables preloads beside its malloc."""
    if TRIM not in environment:
        return []
    path = library(LIBRARY)
    if path is None:
        raise HeaplabError("trim=: this build of heaplab has not the library for it")
    return [str(path)]
