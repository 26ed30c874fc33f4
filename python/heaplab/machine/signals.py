"""Requests to end: which there are, and where they have to wait."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Ctrl-C, a polite request, a terminal that was closed.
REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def listen() -> None:
    """Have every request end heaplab in the way of Ctrl-C: by an exception, so that all is cleaned up."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for request in REQUESTS[1:]:
        if signal.getsignal(request) is not signal.SIG_IGN:  # as under nohup
            signal.signal(request, interrupt)


@contextmanager
def held() -> Iterator[set[int]]:
    """Let requests wait, and yield the earlier mask for a process started meanwhile.

    Whatever forks does so under this: Python drops an exception that is raised while it forks.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS)
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
