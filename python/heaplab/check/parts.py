"""The one table of what is checked: parts, their programs (src/check), and how long a test usually takes."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from heaplab.errors import HeaplabError
from heaplab.machine import native

LIST_LIMIT_S = 60
LONGER = 10  # factor of --long on rounds (src/check/amount.h) and on the times of tests


@dataclass(frozen=True)
class Program:
    """A program of src/check. Its tests are its GoogleTest cases, or one for each line of arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    usual_s: int = 3  # CPU time of its longest test, at most; LONGER times that with --long
    long: bool = False  # its tests run only with --long
    preloaded: bool = False  # needs a library file: the C library's own malloc has none


@dataclass(frozen=True)
class CheckPart:
    name: str
    shows: str
    programs: tuple[Program, ...]


@dataclass(frozen=True)
class Test:
    """One process: it passes, fails, is skipped or crashes."""

    part: str
    name: str
    command: tuple[str, ...]
    usual_s: int
    preloaded: bool


MEMORY_CALLS = ("mmap", "mremap", "munmap", "madvise", "mprotect")
# Calls that a malloc may make, but must be able to do without.
SPARE_CALLS = (
    "process_madvise",
    "mincore",
    "mbind",
    "sched_getaffinity",
    "getcpu",
    "membarrier",
    "getrandom",
    "openat",
    "sysinfo",
    "clock_gettime",
)
# Those that the loader and the C library make themselves when a program begins.
CALLS_OF_THE_LOADER = {"openat", "getrandom"}
MISUSES = (
    "double_free_100B",
    "double_free_100KB",
    "double_free_8MiB",
    "double_free_another_between_100B",
    "double_free_another_between_100KB",
    "double_free_after_another_thread_100B",
    "double_free_after_another_thread_100KB",
    "double_free_after_reuse_100B",
    "double_free_after_reuse_8MiB",
    "realloc_after_free_100B",
    "free_of_stack",
    "free_of_static_memory",
    "free_of_nowhere",
    "free_inside_by_1",
    "free_inside_by_16",
    "free_inside_a_large_block",
    "write_after_free_100B",
    "write_after_free_100B_in_the_middle",
    "write_after_free_3000B_in_the_middle",
    "write_after_free_256KiB",
    "read_after_free_256KiB",
    "read_after_free_8MiB",
    "read_of_no_bytes",
    "write_of_no_bytes",
    "write_before_the_beginning_by_16_of_3000B",
    "write_past_the_end_by_1",
    "write_past_the_end_by_64",
    "sized_delete_too_small",
    "sized_delete_too_large",
)

PARTS = (
    CheckPart("contract", "malloc's family and operator new: C23, POSIX, malloc(3)", (Program("contract"),)),
    CheckPart("exports", "every function comes from the library", (Program("exports"),)),
    CheckPart(
        "threads",
        "many threads, blocks that change hands, threads that end, those of the malloc itself",
        (Program("threads"), Program("own_threads"), Program("lifetime", ("",)), Program("no_keys", ("",))),
    ),
    CheckPart(
        "fork",
        "fork beside other threads, in signal handlers and beside stdio; _Fork, clone, vfork, posix_spawn",
        (Program("fork"), Program("fork_in_handler"), Program("fork_stdio"), Program("raw_children")),
    ),
    CheckPart("signals", "signals that interrupt malloc everywhere", (Program("signals"),)),
    CheckPart(
        "loading",
        "libraries loaded and unloaded meanwhile; the malloc itself loaded late",
        (Program("plugins", ("",)), Program("loaded_late", ("",), preloaded=True)),
    ),
    CheckPart(
        "scarcity",
        "each system call for memory refused in turn; limits of address space, data, locked memory, mappings",
        (
            Program(
                "refused",
                tuple(f"{call} {span}" for call in MEMORY_CALLS for span in ("once", "ever")),
                usual_s=20,
            ),
            Program(
                "refused",
                tuple(
                    f"realloc {call} {span}" for call in (*MEMORY_CALLS, "any") for span in ("once", "ever")
                ),
                usual_s=20,
            ),
            Program("resized", ("used_up",)),
            Program("frugal", ("address_space 64", "address_space 500", "data 64", "locked 500")),
            Program("limited_later", ("call", "unseen")),
            Program("crowded", ("many", "split 33")),
        ),
    ),
    CheckPart(
        "sandbox",
        "system calls that fail with EPERM or kill, later or from the start; no /proc, no /sys",
        (
            Program("sandbox", tuple(f"{way} {call}" for way in ("eperm", "kill") for call in SPARE_CALLS)),
            Program("sandbox", ("eperm madvise", "eperm mremap")),
            Program(
                "sandbox",
                tuple(
                    f"{way} {call} from_start"
                    for way in ("eperm", "kill")
                    for call in SPARE_CALLS
                    if call not in CALLS_OF_THE_LOADER
                ),
            ),
            Program("bare", ("proc", "sys")),
        ),
    ),
    CheckPart(
        "model",
        "random calls against a model of the heap; a heap that ages, with a bound of its memory",
        (
            Program("model", ("100",)),
            Program("aging", ("2000000",), usual_s=10),
            Program("model", ("20000",), usual_s=60, long=True),
            Program("aging", ("30 min",), usual_s=120, long=True),
        ),
    ),
    CheckPart(
        "memory",
        "what is given back after bursts, idle times, forks, by ended and sleeping threads, as sizes shift",
        (
            Program(
                "given_back",
                (
                    "bursts",
                    "idle",
                    "threads",
                    "sizes",
                    "large_sizes",
                    "steady",
                    "aligned",
                    "inherited",
                    "sleepers",
                ),
            ),
            Program("given_back", ("generations",), usual_s=20),
        ),
    ),
    CheckPart(
        "misuse",
        "what becomes of wrong programs: told, neither passed nor failed",
        (Program("misuse", MISUSES),),
    ),
)
NAMES = tuple(part.name for part in PARTS)


def tests_of(part: CheckPart, long: bool) -> Iterator[Test]:
    """The tests of a part, in the order of the table."""
    for program in part.programs:
        if program.long and not long:
            continue
        usual_s = program.usual_s * (LONGER if long else 1)
        file = native.helper(f"check_{program.name}")
        if file is None:
            raise HeaplabError(f"check_{program.name}: this build of heaplab has it not")
        for name, arguments in cases(str(file)) if not program.arguments else modes(program):
            yield Test(part.name, name, (str(file), *arguments), usual_s, program.preloaded)


def modes(program: Program) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in program.arguments:
        words = tuple(line.split())
        yield ".".join([program.name, *("_".join(words).split())]), words


def cases(program: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The GoogleTest cases of a program."""
    done = subprocess.run(
        [program, "--gtest_list_tests"], capture_output=True, text=True, check=True, timeout=LIST_LIMIT_S
    )
    suite = ""
    for line in done.stdout.splitlines():
        if not line.startswith("  "):
            suite = line.split()[0]
            continue
        name = suite + line.split()[0]
        yield name, (f"--gtest_filter={name}",)
