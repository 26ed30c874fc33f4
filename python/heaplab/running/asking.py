"""Has a thread of a running process call functions of its allocator: src/ask does, by the plan made here."""

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path

from heaplab.errors import HeaplabError
from heaplab.machine import interposition, native
from heaplab.machine.coverage.mappings import Region
from heaplab.running import script as scripts
from heaplab.running.function_addresses import Symbols, names
from heaplab.running.questions import NOT_COUNTED, QUESTIONS, Functions, Question, Said
from heaplab.running.script import RECORD, Script, bool_at
from heaplab.running.serving import RECORDER, MappedModule, Serving, modules_of
from heaplab.running.smaps import regions
from heaplab.running.target import Target, refused_by_yama
from heaplab.text import units

TRAMPOLINE = 512  # B of code at most, that of src/ask/trampoline.h
LOWEST = 1 << 32  # address of the area
LARGEST_PAGE = 1 << 16
VSYSCALL = "[vsyscall]"  # the one mapping that lies above the addresses of a process
SHADOW_STACK = "x86_Thread_features"
PATIENCE_S = 60.0
ENDS = ("begin", "end")
MOST_UNTOLD = 1 << 20  # B in mappings whose owner is not asked: more are worth a word
CALLED = ("mmap", "munmap", "__errno_location")  # functions of the C library that every question needs


@dataclass(frozen=True)
class CallOutcome:
    """How calls went."""

    outcome: str
    thread: int
    tried: int  # threads that were stopped
    missed: int  # threads that did not make calls that each should make
    seconds: float

    @property
    def fault(self) -> str:
        """Why there is no answer, in words; "" if there is one."""
        return {
            "abandoned": "the call waited for a lock of malloc for a second and was abandoned; its thread "
            "goes on where it was",
            "at work": "the call has not returned yet; the thread goes on where it was as soon as it has",
        }.get(self.outcome, "")


@dataclass(frozen=True)
class Answered:
    said: Said
    question: Question
    call: CallOutcome


class Calling:
    """Has a thread of a process make calls. Raises HeaplabError if that cannot be done safely."""

    not_done = "is not asked"  # what a refusal says of the process

    def __init__(self, of: Target, malloc: MappedModule | None, fault: str) -> None:
        """`malloc`: what serves it; None: `fault` tells why nothing can be asked."""
        self._of = of
        if malloc is None or (fault := refusal(of)):
            raise self._refused(fault)
        self._modules = modules_of(of)
        self._malloc = Symbols(malloc)
        self._library = Symbols(self._c_library())
        self._code = self._room()

    def _refused(self, fault: str) -> HeaplabError:
        return HeaplabError(f"{self._of.title} {self.not_done}: {fault}")

    def _c_library(self) -> MappedModule:
        for path, module in self._modules.items():
            if interposition.C_LIBRARY.fullmatch(Path(path).name):
                return module
        raise self._refused("the file of its C library was replaced")

    def _script(self) -> Script:
        return Script(free_place(regions(self._of)), self._code)

    def _carried_out(self, script: Script, *, may_abandon: bool = False) -> tuple[CallOutcome, bytes]:
        program = native.needed(native.helper("ask_process"), "ask_process")
        self._of.assert_runs()
        plan = [*self._plan(script), f"may-abandon {int(may_abandon)}", ""]
        done = subprocess.run(
            [program], input="\n".join(plan).encode(), capture_output=True, check=False, timeout=PATIENCE_S
        )
        line, _, area = done.stdout.partition(b"\n")
        if not line:
            raise self._refused(done.stderr.decode(errors="replace").strip() or "ask_process was ended")
        told = json.loads(line)
        return CallOutcome(**{name.name: told[name.name] for name in fields(CallOutcome)}), area

    def _plan(self, script: Script) -> Iterator[str]:
        """The lines of src/ask/plan.h."""
        map_, unmap, errno = (self._needed(name) for name in CALLED)
        begin, end = script.records
        yield f"process {self._of.pid}"
        yield f"code {self._code:x}"
        yield f"area {script.base:x}"
        yield f"area-bytes {scripts.BYTES:x}"
        yield f"map {map_:x}"
        yield f"unmap {unmap:x}"
        yield f"errno {errno:x}"
        yield f"records {begin:x}"
        yield f"records-by-each {begin + script.by_each * RECORD:x}"
        yield f"records-end {end:x}"
        yield f"done {script.base + scripts.DONE:x}"
        yield f"content {script.content.hex()}"
        for address in {map_, unmap, errno} | script.functions:
            symbols = next(each for each in (self._malloc, self._library) if each.has(address))
            yield f"expect {address:x} {symbols.begin_of(address).hex()}"
        for begin, end in self._unsafe():
            yield f"unsafe {begin:x} {end:x}"

    def _needed(self, name: str) -> int:
        if address := self._library.address(name):
            return address
        raise self._refused(f"its C library exports no {name}")

    def _room(self) -> int:
        program = self._modules.get(str(self._of.program))
        for symbols in [self._library, *([Symbols(program)] if program else [])]:
            if room := symbols.room(TRAMPOLINE):
                return room
        raise self._refused("no room for code is in its C library or program")

    def _unsafe(self) -> Iterator[tuple[int, int]]:
        yield from self._library.locking()
        for path, module in self._modules.items():
            is_loader = interposition.GLIBC_LOADER.fullmatch(Path(path).name)
            is_own = Path(path).name == RECORDER
            is_malloc = module == self._malloc.module and path != str(self._of.program)
            if is_loader or is_own or (is_malloc and module != self._library.module):
                yield from Symbols(module).code


class Asking(Calling):
    """Asks the allocator of a process."""

    def __init__(self, of: Target, served: Serving) -> None:
        super().__init__(of, served.malloc, served.fault)
        self.question = self._question(served)

    def ask(self) -> Answered:
        script, functions = self._script(), Exported(self._malloc, self._library)
        self.question.ask(script, functions)
        asked_for = self._ask_for_mappings(script, functions) if self.question.owns else []
        call, area = self._asked(script)
        if call.fault:
            raise HeaplabError(f"{self._of.title} has no answer: {call.fault}")
        said = self.question.read(area, script.base)
        if said is None:
            raise HeaplabError(f"{self._of.title}: its allocator gave no figures")
        if asked_for:
            own = (size for size, places in asked_for if any(bool_at(area, script.base, at) for at in places))
            said = replace(said, held=sum(own))
        untold = sum(size for size, places in asked_for if not places)
        if note := self._not_covered(call, untold):
            said = replace(said, live=None, returnable=None, note=note)
        return Answered(said, self.question, call)

    def _ask_for_mappings(self, script: Script, functions: Functions) -> list[tuple[int, list[int]]]:
        """Add calls that tell whether the ends of anonymous mappings are the allocator's.

        Returns the resident bytes of mappings side by side, and where the answers will be; of those for which
        there is no room, nowhere.
        """
        asked_for: list[tuple[int, list[int]]] = []
        for size, start, end in sorted(side_by_side(regions(self._of)), reverse=True):
            places = []
            if script.calls_left >= len(ENDS):
                places = [script.number() for _ in ENDS]
                # To mimalloc 2 an address belongs to the segment of the byte before.
                for address, place in zip((start + 1, end), places, strict=True):
                    script.call(functions[self.question.owns], address, result=place)
            asked_for.append((size, places))
        return asked_for

    def _not_covered(self, call: CallOutcome, untold: int) -> str:
        """Why the answer does not cover all memory, in words; "" if it does. `untold`: B of it."""
        if untold > MOST_UNTOLD:
            return f"{units.show(untold, 'B')} lie in small mappings, whose owner was not asked"
        if call.missed:
            return f"{units.counted(call.missed, 'thread')} could not be asked"
        counted_by, pattern = self.question.counted_by, self.question.not_covered
        if counted_by and not counted_by.search(Path(self._malloc.module.path).name):
            return NOT_COUNTED
        others = [each for each in self._modules.values() if each != self._malloc.module]
        makers = (Path(each.path).name for each in others if pattern and names(each.file, pattern))
        return next((f"{name} makes heaps of its own, of which nothing is told" for name in makers), "")

    def trim(self) -> CallOutcome:
        """Call the function of the allocator that returns memory to the system."""
        script = self._script()
        self.question.trim(script, Exported(self._malloc, self._library))
        return self._asked(script)[0]

    def _asked(self, script: Script) -> tuple[CallOutcome, bytes]:
        return self._carried_out(script, may_abandon=self.question.may_abandon)

    def _question(self, served: Serving) -> Question:
        for kind in QUESTIONS:
            if all(self._malloc.address(name) for name in kind.needs):
                return kind()
        raise self._refused(f"{served.name} exports no statistics that are known here")


class Exported(dict[str, int]):
    """The functions of modules by name: those of the first that exports the name."""

    def __init__(self, *modules: Symbols) -> None:
        super().__init__()
        self._modules = modules

    def __missing__(self, name: str) -> int:
        return next(address for module in self._modules if (address := module.address(name)))


def side_by_side(mapped: list[Region]) -> Iterator[tuple[int, int, int]]:
    """Of anonymous mappings without a gap between them: resident bytes, begin, end."""
    size = start = end = 0
    for region in mapped:
        if region.name:
            continue
        if region.start != end:
            if size:
                yield size, start, end
            size, start = 0, region.start
        size, end = size + region.sizes.get("Anonymous", 0), region.end
    if size:
        yield size, start, end


def refusal(of: Target) -> str:
    """Why no thread of the process is to make calls, in words; "" if one may."""
    if foreign := [kind for kind in of.foreign_namespaces() if kind != "user"]:
        return f"it is in another namespace ({', '.join(foreign)}); run heaplab in its container"
    if native.helper("ask_process") is None:
        return "this heaplab was built without ask_process, which needs libunwind, and x86-64 or AArch64"
    return first_of(of)


def first_of(of: Target) -> str:
    """The first thing in the state of the process that forbids it."""
    status = of.status
    tracer = status.get("TracerPid", "0")
    reasons: tuple[tuple[bool, str], ...] = (
        (tracer != "0", f"process {tracer} traces it already"),
        (status["State"][0] in "Tt", "it is stopped; continue it first (SIGCONT)"),
        (
            status.get("Seccomp", "0") != "0",
            "its system calls are filtered (seccomp), and the filter might end it",
        ),
        ("shstk" in status.get(SHADOW_STACK, ""), "it has a shadow stack, which forbids such calls"),
        (bool(refused := refused_by_yama(of.pid)), refused),
    )
    return next((why for holds, why in reasons if holds), "")


def free_place(mapped: list[Region], choose: Callable[[int, int], int] = random.randrange) -> int:
    """The begin of address space that is free, at a place that no other asking program chooses too."""
    size = 2 * scripts.BYTES
    gaps = [
        (max(below.end + size, LOWEST), above.start - size)
        for below, above in pairwise(mapped)
        if above.name != VSYSCALL
    ]
    begin, end = max(gaps, key=lambda gap: gap[1] - gap[0])
    if end - begin < size:
        raise HeaplabError("the process has no free address space for an answer")
    return choose(begin, end - size) // LARGEST_PAGE * LARGEST_PAGE
