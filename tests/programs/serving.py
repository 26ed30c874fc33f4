"""A server that runs while a test talks to it."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

LIMIT_S = 60


class ProgramError(Exception):
    """A program that did not do its work; the text says which and how."""


def until(done: Callable[[], bool], what: str) -> None:
    """Wait until `done`, for a minute at most."""
    end = time.monotonic() + LIMIT_S
    while not done():
        if time.monotonic() > end:
            raise ProgramError(f"no end of {what} after {LIMIT_S} s")
        time.sleep(0.02)


def connected_to(path: Path) -> socket.socket:
    """Return a connection to the socket of that name. Raises OSError where nobody listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A path of a socket holds 107 characters, that of a descriptor is always short enough.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{path.name}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(folder)
    return connection


def listens(path: Path) -> bool:
    """Whether a server accepts connections there. Its socket has a name a moment before."""
    try:
        connected_to(path).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def serving(
    command: Sequence[str],
    environment: dict[str, str],
    folder: Path,
    ready: Callable[[], bool],
    user: str | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Serve until the block ends, whatever happens in it; timeout(1) ends a server that nobody ends."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["timeout", "300", *command], env=environment, cwd=folder, stdout=log, stderr=log, user=user
        )

    def started() -> bool:
        if process.poll() is not None:
            raise ProgramError(f"{command[0]} does not serve:\n{(folder / 'log').read_text()}")
        return ready()

    try:
        until(started, f"the start of {command[0]}")
        yield process
    finally:
        process.terminate()
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def client(environment: dict[str, str]) -> dict[str, str]:
    """The environment of a client, which runs without the library."""
    return {name: value for name, value in environment.items() if name != "LD_PRELOAD"}


def call(environment: dict[str, str], folder: Path, *command: str, user: str | None = None) -> str:
    """Run a command of a client to its end and return its standard output."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        user=user,
    )
    if done.returncode != 0:
        raise ProgramError(f"{command[0]}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout
