"""TOML files of the catalog as checked and immutable values, for all kinds of files."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from heaplab.errors import UsageError, fault_of
from heaplab.files import regular_file

MOST = 16 << 20  # B
DOTS_MOST = 1000  # in a line: the time for a key grows with the square of its parts
Kind = TypeVar("Kind")  # a class of pydantic's, or a dataclass


def load(kind: type[Kind], path: Path, identifier: str) -> Kind:
    """Read one TOML file. Raises UsageError with one line that names file, key and fault."""
    return checked(kind, path, {"id": identifier} | content_of(path))


def load_tables(kind: type[Kind], path: Path) -> dict[str, Kind]:
    """The tables of one TOML file by name; none if there is no file. Raises UsageError as `load` does."""
    tables = content_of(path) if path.exists() else {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {name}: takes a table, [{name}]")
    return {name: checked(kind, path, {"id": name} | table, f"{name}.") for name, table in tables.items()}


def content_of(path: Path) -> dict[str, Any]:
    content = regular_file.content_of(path, MOST)
    if max(line.count(b".") for line in content.split(b"\n")) > DOTS_MOST:
        raise UsageError(f"{path}: a line with more than {DOTS_MOST} dots")
    try:
        return tomllib.loads(content.decode())
    except RecursionError as error:
        raise UsageError(f"{path}: is nested too deeply") from error
    except ValueError as error:  # of TOML, of UTF-8, or of a number with too many digits
        raise UsageError(f"{path}: not TOML: {error}") from error


@cache
def checker(kind: Any) -> Any:
    """What checks values of the class, made once: that takes as long as some checks."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def checked(kind: type[Kind], path: Path | str, content: dict[str, Any], place: str = "") -> Kind:
    # Here because a command that only looks for a library checks no file, and importing pydantic takes 0.1 s.
    from pydantic import ValidationError

    try:
        parsed: Kind = cast(Any, checker)(kind).validate_python(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {place}{fault_of(error, '(file)')}") from error
    return parsed
