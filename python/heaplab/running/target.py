"""The process that is looked at: what it is, and which right is missing if the kernel tells nothing of it."""

import os
import pwd
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import elf
from heaplab.machine.process_tree import name_of

CAP_SYS_PTRACE = 1 << 19
NAMESPACES = ("mnt", "pid", "user")
MOST_PID = 1 << 22  # PID_MAX_LIMIT
HAS_ENDED = "has ended"
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


@dataclass(frozen=True)
class Target:
    """A process with the time of its start, so that a later process of the same number is no other."""

    pid: int
    name: str
    program: Path  # its file, as the process itself names it
    started: int  # ticks since the boot

    @property
    def proc(self) -> Path:
        return Path(f"/proc/{self.pid}")

    @cached_property
    def status(self) -> dict[str, str]:
        return status_of(self.pid)

    @property
    def title(self) -> str:
        return f"{self.name} ({self.pid})"

    @property
    def file(self) -> Path:
        """The file of the program, also if that was replaced, or lies in a container."""
        return self.proc / "exe"

    def inside(self, path: str) -> Path:
        """A file that the process names `path`, also if the process lies in a container."""
        return Path(f"{self.proc}/root{path}")

    def foreign_namespaces(self) -> list[str]:
        """The kinds of namespaces in which the process is, and this command is not."""
        return [kind for kind in NAMESPACES if namespace(self.pid, kind) != namespace("self", kind)]

    def has_ended(self) -> bool:
        """Whether the process has ended, or runs another program by now."""
        try:
            return (
                start_of(self.pid) != self.started
                or os.readlink(self.file) != str(self.program)
                or state_of(self.pid) in "ZX"
            )
        except OSError:
            return True

    def assert_runs(self) -> None:
        """Raise HeaplabError if the process has ended, or runs another program by now."""
        if self.has_ended():
            raise HeaplabError(f"{self.title}: {HAS_ENDED}, or runs another program now")


def target(text: str) -> Target:
    """The process of this number. Raises UsageError or HeaplabError in one line."""
    if not text.isdecimal() or not 0 < int(text) < MOST_PID:
        raise UsageError(f"{text!r} is no number of a process; allowed is 1 to {MOST_PID - 1}")
    pid = int(text)
    try:
        known = status_of(pid)
        if known["Tgid"] != str(pid):
            raise UsageError(f"{pid} is a thread of process {known['Tgid']}: name that")
        if state_of(pid) in "ZX":
            raise HeaplabError(f"{known['Name']} ({pid}): {HAS_ENDED}")
        return named(pid, known["Name"])
    except (FileNotFoundError, ProcessLookupError) as error:
        raise UsageError(f"there is no process {pid}, or it {HAS_ENDED}") from error


def named(pid: int, known: str) -> Target:
    try:
        program = os.readlink(f"/proc/{pid}/exe")
        name = name_of(pid, Path(program.removesuffix(" (deleted)")))
        return Target(pid, name, Path(program), start_of(pid))
    except PermissionError as error:
        raise HeaplabError(f"{known} ({pid}): {missing_right(pid)}") from error
    except FileNotFoundError as error:
        if Path(f"/proc/{pid}/cmdline").read_bytes():
            raise
        raise HeaplabError(f"{known} ({pid}) is a thread of the kernel, which has no malloc") from error


def status_of(pid: int | str) -> dict[str, str]:
    """The lines of /proc/PID/status. Raises OSError."""
    lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def start_of(pid: int) -> int:
    return int(stat_words(pid)[19])


def state_of(pid: int) -> str:
    return stat_words(pid)[0]


def stat_words(pid: int) -> list[str]:
    """The words of /proc/PID/stat behind the name. Raises OSError."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def namespace(pid: int | str, kind: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return ""


def user_of(pid: int) -> int:
    return int(status_of(pid)["Uid"].split()[1])


def may_trace_all() -> bool:
    return bool(int(status_of("self")["CapEff"], 16) & CAP_SYS_PTRACE)


def missing_right(pid: int) -> str:
    """Why the kernel tells nothing of this process, in a few words: the right that is missing."""
    user = user_of(pid)
    if user != os.geteuid():
        return (
            f"runs as {user_name(user)}, not as {user_name(os.geteuid())}: that needs {what_gives_it(user)}"
        )
    return (
        "does not let its own user look (it changed its user or capabilities, or called prctl): that needs "
        "CAP_SYS_PTRACE, such as root has"
    )


def what_gives_it(user: int) -> str:
    return f"CAP_SYS_PTRACE, such as root has, or user {user_name(user)}"


def refused_by_yama(pid: int) -> str:
    """Why the security module Yama refuses to trace, in a few words; "" if it does not."""
    try:
        scope = int(YAMA.read_text())
    except (OSError, ValueError):
        return ""
    if scope == 3:
        return "kernel.yama.ptrace_scope is 3, so that nobody may trace a process until the next boot"
    if scope == 0 or may_trace_all():
        return ""
    return (
        f"kernel.yama.ptrace_scope is {scope}, so that tracing process {pid} needs CAP_SYS_PTRACE, such as "
        "root has, or `sysctl kernel.yama.ptrace_scope=0`"
    )


def user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def bits_of(program: Path) -> int:
    """The size of addresses in the ELF file of a program. Raises UsageError if it cannot be read."""
    with elf.opened(program, "not an ELF program") as opened:
        return int(opened.elfclass)
