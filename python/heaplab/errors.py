"""The errors a user can cause or meet, each with the exit status it ends the command with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # errors are there without importing pydantic
    from pydantic import ValidationError


class HeaplabError(Exception):
    """An error that is reported in one line. Exit status 1: the request could not be carried out."""

    exit_status = 1


class UsageError(HeaplabError):
    """A request that makes no sense: an unknown name, a bad value, a broken file. Exit status 2."""

    exit_status = 2


class DamagedTraceError(HeaplabError):
    """A damaged trace of which nothing is left that could be used. Exit status 5, as for all damaged ones."""

    exit_status = 5


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make an error of the system in the block a UsageError that names the file."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def fault_of(error: "ValidationError", whole: str) -> str:
    """The first fault of a record in one line: its place (`whole` if the fault has none), and the reason."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or whole
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"
