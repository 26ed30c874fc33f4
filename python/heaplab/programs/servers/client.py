"""The commands beside a server: never preloaded, and on separate CPUs if there are several."""

import contextlib
import os
import select
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from heaplab.errors import HeaplabError
from heaplab.machine.execute import plain_environment, start
from heaplab.machine.watch import kill_group

LOOPBACK = ("127.0.0.1", "::1")
PORT = "{port}"
TCP = "tcp:"
LINES_TOLD = 3  # last lines of the output of a command or server that a message quotes


def free_port() -> int:
    """A port of the loopback interface on which no program listens."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK[0], 0))
        return int(listener.getsockname()[1])


def filled(text: str, port: int) -> str:
    return text.replace(PORT, str(port))


def port_of(ready: str, port: int) -> int | None:
    """The port of tcp:PORT; None for a command. Raises HeaplabError if PORT is no port."""
    if not ready.startswith(TCP):
        return None
    number = filled(ready, port).removeprefix(TCP)
    if not number.isdecimal() or not 0 < int(number) < 1 << 16:
        raise HeaplabError(f"ready: {ready!r} names no port from 1 to 65535, such as tcp:6379")
    return int(number)


def listens(port: int) -> bool:
    """Whether a program accepts connections on the port of the loopback interface."""
    for address in LOOPBACK:
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1):
            return True
    return False


def last_lines(stream: IO[bytes]) -> str:
    """The last lines of the output in one line; "" if there was no output."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 4096))
    lines = stream.read().decode(errors="replace").replace("\r", "\n").split("\n")
    return " | ".join([line.strip()[:200] for line in lines if line.strip()][-LINES_TOLD:])


class ShellCommand:
    """A running shell command. Its standard output and standard error are kept."""

    def __init__(self, child: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self._child = child
        self._output = output
        self.ending = os.pidfd_open(child.pid)

    @property
    def exit_status(self) -> int:
        """Wait for the end of the command."""
        return self._child.wait()

    @property
    def running(self) -> bool:
        return not select.select([self.ending], [], [], 0)[0]

    def kill(self) -> None:
        kill_group(self._child.pid)

    def text(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def last(self) -> str:
        return last_lines(self._output)


class Client:
    """Runs commands for one server, in the server's folder and with its port for {port}."""

    def __init__(self, folder: Path | None, port: int, cpus: frozenset[int]) -> None:
        self._folder = folder
        self._port = port
        self._cpus = cpus

    @contextlib.contextmanager
    def started(self, text: str) -> Iterator[ShellCommand]:
        """The running command. The end of the block kills what is left of it."""
        with contextlib.ExitStack() as at_end:
            output = at_end.enter_context(tempfile.TemporaryFile())
            options: dict[str, Any] = {"stdout": output, "stderr": output, "cwd": self._folder}
            words = ["/bin/sh", "-c", filled(text, self._port)]
            child = start(words, at_end, self._apart, env=plain_environment(), **options)
            command = ShellCommand(child, output)
            at_end.callback(os.close, command.ending)
            yield command

    def succeeds(self, text: str, wait: Callable[[ShellCommand], None]) -> bool:
        """Whether the command succeeds; `wait` returns when the command has ended, or raises."""
        with self.started(text) as command:
            wait(command)
            return command.exit_status == 0

    def _apart(self) -> None:
        os.sched_setaffinity(0, self._cpus)
