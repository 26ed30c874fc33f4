"""Functions that allocate for others: a call site is named after the first caller that is not one of them.

The variable HEAPLAB_WRAPPERS names a file with further patterns, one regular expression a line. A pattern
matches the whole name of a function; `in PATTERN` matches the name of a library with all its functions, and
`at PATTERN` a source file with all its functions.
"""

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePath

from heaplab.errors import UsageError
from heaplab.files import regular_file
from heaplab.traces.symbols import Place

VARIABLE = "HEAPLAB_WRAPPERS"
STARTS_MAIN = "__libc_start_"  # functions of the C library, called by _start of the program
KNOWN = (
    # The C library, the loader and the libraries of C++ with all their functions.
    r"in (libc\.so\.6|libc-2\..*\.so|ld-linux.*\.so\.\d|lib(std)?c\+\+\.so\.\d.*|libgcc_s\.so\.1)",
    # The C library's sources, as its debug information names them.
    r"at (\./|\.\./(sysdeps|csu|elf|include|intl|misc|nptl|nss|posix|stdlib)/).*",
    # xmalloc, g_malloc0, PyMem_RawMalloc, sqlite3DbMallocRawNN, Perl_safesysrealloc, CRYPTO_zalloc, xstrdup
    r"(?i)\w*(malloc|calloc|realloc|zalloc|memalign|strn?dup|memdup)\w{0,8}",
    r"g_slice_\w+|_?obstack_\w+|gs_heap_\w+|jv_mem_\w+|PyObject_(New|GC)\w*|_PyObject_(New|GC)\w*",
    r"operator new(\[\])?",
    # Headers of C++, whose functions compilers inline, and Rust's library.
    r"(std|heaplab::local|__gnu_cxx|__gnu_debug|boost::container|absl::container_internal|folly::detail)::.*",
    r"<?(alloc|core|std|hashbrown)::.*|__rust_\w+|__rdl_\w+|__rg_\w+",
)


def is_wrapper(place: Place) -> bool:
    texts = (plain(place.function), f"in {PurePath(place.module).name}", f"at {place.file}")
    return any(pattern.fullmatch(text) for pattern in patterns() for text in texts)


def first_useful(places: Iterable[Place]) -> int:
    """The index of the first place that is no wrapper; 0 if all places are wrappers."""
    return next((number for number, place in enumerate(places) if not is_wrapper(place)), 0)


def useful_part(places: Sequence[Place]) -> Sequence[Place]:
    """The places from the first caller outside wrappers to main, or to the first function of a thread.

    The callers of main are functions of the C library, whose names differ between its versions. If all places
    are wrappers, the innermost place alone.
    """
    starts = (number for number, place in enumerate(places) if place.function.startswith(STARTS_MAIN))
    places = places[: next(starts, len(places))] or places
    while len(places) > 1 and is_wrapper(places[-1]):
        places = places[:-1]
    return places[first_useful(places) :]


@cache
def patterns() -> list[re.Pattern[str]]:
    """All patterns. Raises UsageError."""
    lines = list(KNOWN)
    if path := os.environ.get(VARIABLE):
        try:
            lines += filter(None, map(str.strip, regular_file.text_of(Path(path)).splitlines()))
        except UsageError as error:
            raise UsageError(f"{VARIABLE}: {error}") from error
    return [compiled(line) for line in lines]


def compiled(line: str) -> re.Pattern[str]:
    try:
        return re.compile(line)
    except re.error as error:
        raise UsageError(f"{VARIABLE}: {line!r} is no regular expression: {error}") from error


def plain(function: str) -> str:
    """The name without types: `void std::vector<int>::push_back(int&&)` is `std::vector<int>::push_back`."""
    depth, start = 0, 0
    for at, letter in enumerate(function):
        if letter == "(" and depth == 0 and not function.startswith(("(anonymous", "(inlined"), at):
            return function[start:at]
        if letter in "<(":
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif letter == " " and depth == 0 and not function.startswith("operator", start):
            start = at + 1
    return function[start:]
