"""Every public header alone, and a use of all of them, under every option that they promise to work with."""

import itertools
from concurrent.futures import Executor
from pathlib import Path

from compiler import INCLUDE, messages_on

USE = Path(__file__).parent / "every_allocator.cpp"
C_HEADER = "heaplab/llheap.h"

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Werror")
# C++23 and C23 by the names that every one of the compilers knows.
STANDARDS = ("-std=c++20", "-std=c++2b")
BOTH_OR_NEITHER = ((), ("-fno-exceptions", "-fno-rtti"))
EACH_ALONE = (("-fno-exceptions",), ("-fno-rtti",))
FOR_C_HEADERS = (("c", ("-std=c99",)), ("c", ("-std=c2x",)), ("c++", ("-std=c++11",)))

Case = tuple[str, str, tuple[str, ...]]  # what to compile, its language, options


def cases(each: bool) -> list[Case]:
    """Each header alone, and the use of all, by each standard with each set of switches.

    Without `each` a header is alone where it has least: by the newer standard without any switch.
    """
    headers = sorted(str(header.relative_to(INCLUDE)) for header in INCLUDE.rglob("*.h"))
    every = [*headers, USE.name]
    if each:
        options = itertools.product(STANDARDS, BOTH_OR_NEITHER + EACH_ALONE)
        chosen = [(what, standard, switch) for (standard, switch), what in itertools.product(options, every)]
    else:
        older, newer = zip(STANDARDS, BOTH_OR_NEITHER, strict=True)
        chosen = [(USE.name, *older), *((what, *newer) for what in every)]
    return [(what, "c++", (standard, *switch)) for what, standard, switch in chosen] + [
        (C_HEADER, *language_and_standard) for language_and_standard in FOR_C_HEADERS
    ]


def failures(compiler: str, each: bool, pool: Executor) -> tuple[list[str], int]:
    """Return what the compiler said where it was not content, and the number of compilations."""

    def failure(case: Case) -> str:
        what, language, options = case
        # Twice: a header may be included again.
        text = USE.read_text() if what == USE.name else f"#include <{what}>\n" * 2
        said = messages_on(compiler, language, options + WARNINGS, text)
        return said and f"{compiler} {language} {' '.join(options)}: {what}\n{said}"

    all_cases = cases(each)
    return [text for text in pool.map(failure, all_cases) if text], len(all_cases)
