"""How heaplab ends: with an exit status and, after a failure, one line on standard error."""

import contextlib
import io
import os
import re
import resource
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NoReturn

import click

from heaplab.errors import DamagedTraceError, HeaplabError, UsageError

DONE, FAILED, WRONG_USAGE = 0, 1, 2
DAMAGED = DamagedTraceError.exit_status  # a trace was read whose frames are damaged or missing in part
STANDARD_OUTPUT = "standard output"
ESCAPED_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")  # Python's escape of a byte that is not UTF-8
ANALYSIS_NEEDS = 1 << 30  # B of address space; with less, the linear algebra libraries crash or hang


def status_of(command: Callable[[], int | None]) -> int:
    """Carry out a command, print one line if an error stopped it, and return the exit status."""
    try:
        prepare_streams()
        status = command() or DONE
        sys.stdout.flush()
        return status
    except OSError as error:
        return lost(error)
    except click.ClickException as error:
        said, status = " ".join(error.format_message().split()), WRONG_USAGE  # click lists choices in lines
    except HeaplabError as error:
        said, status = str(error), error.exit_status
    except MemoryError:
        said, status = f"out of memory{limited()}", FAILED
    except ImportError as error:
        said, status = f"cannot be loaded{limited()}: {error}", FAILED
    except (click.Abort, KeyboardInterrupt):
        said, status = "interrupted", FAILED
    return complain(said, status)


def prepare_streams() -> None:
    """Refuse or replace closed streams, and make errors of standard output name the stream.

    The next file to be opened, such as the results, would get the descriptor of a closed stream.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        raise HeaplabError(f"{STANDARD_OUTPUT} is closed")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is sys.__stdout__:
        sys.stdout = named_standard_output()


def named_standard_output() -> io.TextIOWrapper:
    """Standard output whose write errors name it, and which can print every file name."""
    encoding = sys.stdout.encoding
    return io.TextIOWrapper(
        io.BufferedWriter(NamedOutput(sys.stdout.fileno(), "w", closefd=False)),
        encoding=encoding,
        errors="surrogateescape" if encoding.lower() == "utf-8" else "replace",
        line_buffering=sys.stdout.isatty(),
    )


class NamedOutput(io.FileIO):
    """Unbuffered standard output whose write errors name it."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STANDARD_OUTPUT
            raise


def leave(status: int) -> NoReturn:
    """End with this status also where what was said on standard error cannot be written."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Python flushes again, and would end with status 120
    sys.exit(status)


def leave_at_once(status: int) -> NoReturn:
    """End without taking the interpreter apart, which takes seconds on a busy machine."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)


def lost(error: OSError) -> int:
    """Print the error of the system; nothing if the reader of a pipe, such as `head`, has ended."""
    if error.filename == STANDARD_OUTPUT:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes the rest of the buffer when it ends
        if isinstance(error, BrokenPipeError):
            return FAILED
    what = f"{error.filename}: " if error.filename else ""
    return complain(f"{what}{error.strerror or error}", FAILED)


def refuse_small_address_space() -> None:
    """Raise HeaplabError, before anything is measured, if the address space is too small for the analysis."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY and most < ANALYSIS_NEEDS:
        raise HeaplabError(f"analysing results needs {ANALYSIS_NEEDS >> 10} KiB of address space{limited()}")


def refuse_missing_temporary_folder() -> None:
    """Raise UsageError if there is no folder for temporary files, or TMPDIR names none."""
    named = os.environ.get("TMPDIR")
    if named and not (os.path.isdir(named) and os.access(named, os.W_OK)):
        raise UsageError(f"TMPDIR={named}: no folder that can be written to")
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UsageError("no folder for temporary files: /tmp is missing; let TMPDIR name one") from error


def limited() -> str:
    """The limit on address space, a likely reason for running out of memory; "" without a limit."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return ""
    return f", the address space is limited to {most >> 10} KiB (ulimit -v)"


def complain(message: str, status: int) -> int:
    """Print one line on standard error; where that fails, the exit status still tells. Returns the status.

    A byte of a name that is not UTF-8 is printed as \\xff.
    """
    line = ESCAPED_BYTE.sub(r"\\x\1", message.replace("\n", " ").encode(errors="backslashreplace").decode())
    with contextlib.suppress(OSError):
        print("heaplab:", line, file=sys.stderr)
    return status
