"""Has a running process record its calls, and leaves it as it was: functions are redirected in its memory."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import elf, native
from heaplab.running.asking import Calling
from heaplab.running.function_addresses import PAGE, Symbols
from heaplab.running.script import number_at
from heaplab.running.serving import MappedModule, Serving, modules_of
from heaplab.running.target import Target, bits_of, user_name, user_of
from heaplab.traces.redirecting import functions_file
from heaplab.traces.redirecting.allocation_functions import OF_RUST, known
from heaplab.traces.redirecting.functions_file import Redirection
from heaplab.traces.redirecting.symbol_table import CodeOf, functions_in

RTLD_NOW = 2
ATTACH = "heaplab_recorder_attach"
ENTRY = 8  # B of an address
ATTEMPTS, BETWEEN_S = 100, 0.05  # to find all threads outside of the code that is changed


class Attaching(Calling):
    """Loads the recorder into a process, and redirects the functions of its malloc."""

    not_done = "is not recorded"

    def __init__(self, of: Target, served: Serving, recorder: str, names: Sequence[str]) -> None:
        super().__init__(of, served.malloc or program_of(of), served.fault)
        self._recorder = recorder
        try:
            self.redirection = self._redirection(names)
        except UsageError:
            of.assert_runs()  # its files are gone if it has ended
            raise
        if not self.redirection.functions:
            raise self._refused("; ".join(self.redirection.faults) or "it has no such function")
        self.changes: list[tuple[int, bytes, bytes]] = []  # address, code before and after

    def attach(self, folder: Path) -> float:
        """Redirect the functions; return for how many s all threads were stopped."""
        self.redirection.write(folder)
        for path in (folder, *folder.iterdir()):
            if os.geteuid() != user_of(self._of.pid):
                os.chown(path, user_of(self._of.pid), -1)
        entries = self._prepared(folder)
        for function, entry in zip(self.redirection.functions, entries, strict=True):
            after = jump(function.of.start, entry)
            self.changes.append((function.of.start, function.of.code[: len(after)], after))
        return self._change(self.changes)

    def detach(self) -> float:
        """Put the code back; return for how many s all threads were stopped."""
        return self._change([(address, after, before) for address, before, after in self.changes])

    def _redirection(self, names: Sequence[str]) -> Redirection:
        modules = [self._malloc.module, *self._operators(), *self._program()]
        every: list[CodeOf] = []  # those of the malloc that serves the process come first
        shapes = functions_file.named(names) if names else known()
        for module in modules:
            bias = Symbols(module).bias
            functions = functions_in(module.file, shapes, OF_RUST)
            every += [each._replace(start=each.start + bias) for each in functions]
        titles, wanted = (["functions that you name"], every) if names else functions_file.present(every)
        return functions_file.moved(None, titles, [each for each in wanted if is_on_one_page(each)], shapes)

    def _operators(self) -> Iterator[MappedModule]:
        """The library with the operators of C++: their callers are those of the program."""
        for path, module in self._modules.items():
            if Path(path).name.startswith("libstdc++.so"):
                yield module

    def _program(self) -> Iterator[MappedModule]:
        """The program, which may have another malloc compiled in."""
        if program := self._modules.get(str(self._of.program)):
            yield program

    def _unsafe(self) -> Iterator[tuple[int, int]]:
        yield from super()._unsafe()
        for each in self.redirection.functions:  # one that the program brings may hold a lock, too
            yield each.of.start, each.of.start + len(each.of.code)

    def _prepared(self, folder: Path) -> list[int]:
        """Load the recorder and have it prepare entries; return where they lie."""
        script = self._script()
        script.call(
            self._needed("dlopen"),
            *(script.text(self._recorder), RTLD_NOW),
            result=script.argument(1, 0),
            required=script.argument(1, 0),
        )
        script.call(
            self._needed("dlsym"),
            *(0, script.text(ATTACH)),
            result=script.next_function,
            required=script.next_function,
        )
        head = script.number()
        script.call(0, script.text(str(folder.resolve())), result=head)
        call, area = self._carried_out(script)
        if call.fault:
            raise self._refused(call.fault)
        entries = number_at(area, script.base, head)
        if not entries:
            raise self._refused(self.redirection.fault_in(folder) or self._why_not(folder))
        count = len(self.redirection.functions)
        return [int.from_bytes(word, "little") for word in words(self._of, entries, count)]

    def _why_not(self, folder: Path) -> str:
        if self._recorder not in (self._of.proc / "maps").read_text(errors="replace"):
            return f"its loader does not load {self._recorder}"
        user = user_name(user_of(self._of.pid))
        return (
            f"user {user} cannot use {folder}: give -o in a folder that {user} can reach, such as below /tmp"
        )

    def _change(self, changes: Sequence[tuple[int, bytes, bytes]]) -> float:
        """Change code as soon as no thread is in it; return the most s that all threads were stopped."""
        longest = 0.0
        for _ in range(ATTEMPTS):
            told = self._try_to_change(changes)
            longest = max(longest, float(told["seconds"]))
            if not told["why"]:
                return longest
            time.sleep(BETWEEN_S)
        raise self._refused(told["why"])

    def _try_to_change(self, changes: Sequence[tuple[int, bytes, bytes]]) -> dict[str, Any]:
        program = native.needed(native.helper("change_code"), "change_code")
        lines = [f"change {address:x} {before.hex()} {after.hex()}" for address, before, after in changes]
        done = subprocess.run(
            [program],
            input="\n".join([f"process {self._of.pid}", *lines, ""]),
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # the signals of a terminal leave threads stopped half-way
        )
        if done.returncode != 0:
            raise self._refused(done.stderr.strip() or "change_code was ended")
        outcome: dict[str, Any] = json.loads(done.stdout)
        return outcome


def program_of(of: Target) -> MappedModule | None:
    """The program, if it has a malloc of its own."""
    if bits_of(of.file) == 32 or not elf.interpreter(of.file) or not elf.own_malloc(of.file):
        return None
    return modules_of(of).get(str(of.program))


def jump(begin: int, entry: int) -> bytes:
    """The instruction that leads from the begin of a function to its entry (src/moving/jump.h)."""
    if platform.machine() == "aarch64":
        return (0x14000000 | (entry - begin) // 4 & 0x03FFFFFF).to_bytes(4, "little")
    return b"\xe9" + (entry - begin - 5).to_bytes(4, "little", signed=True)


def is_on_one_page(function: CodeOf) -> bool:
    """Whether the word that a jump is written with lies on one page, so that no writer is killed half-way.

    The jump may stand behind a landing pad.
    """
    return function.start % PAGE <= PAGE - 2 * ENTRY


def words(of: Target, address: int, count: int) -> Iterator[bytes]:
    """Words of the memory of a process."""
    try:
        with (of.proc / "mem").open("rb", buffering=0) as memory:
            memory.seek(address)
            content = memory.read(count * ENTRY)
    except OSError as error:
        raise HeaplabError(f"{of.title} has ended") from error
    return (content[at : at + ENTRY] for at in range(0, count * ENTRY, ENTRY))
