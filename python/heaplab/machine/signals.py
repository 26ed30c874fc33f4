"""Signals that ask heaplab to end (SIGINT, SIGTERM, SIGHUP), and sections in which they are blocked."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Ctrl-C; a request to end, for example by `kill`; a closed terminal.
REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REMINDER = signal.SIGALRM  # of a request that Python has dropped
SPREAD_S = 0.5  # s within which a signal to a whole job reaches all its processes
REMINDER_S = 0.01  # s after which a dropped request is repeated


_asked: list[int] = []  # the requests that have come


def was_asked() -> bool:
    """Whether heaplab was asked to end, since it listens."""
    return bool(_asked)


def listen() -> None:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, like Ctrl-C, so that everything is cleaned up.

    Python drops an exception that is raised in a finaliser, whichever code runs at that moment. A dropped
    request is repeated a little later, so that none is lost.
    """

    def interrupt(request: int, _frame: FrameType | None) -> None:
        _asked.append(request)
        raise KeyboardInterrupt

    def repeat_dropped(dropped: "sys.UnraisableHookArgs") -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, REMINDER_S)
        else:
            sys.__unraisablehook__(dropped)

    for request in REQUESTS:
        if signal.getsignal(request) is not signal.SIG_IGN:  # SIG_IGN under nohup, for example
            signal.signal(request, interrupt)
    signal.signal(REMINDER, interrupt)
    sys.unraisablehook = repeat_dropped


def await_own(exit_status: int) -> None:
    """Wait for the signal that ended a process: if it reaches heaplab too, KeyboardInterrupt is raised.

    Schedulers send their request to end to every process of a job, perhaps to the measured program first. Its
    run has not failed then, but was interrupted.
    """
    if -exit_status in REQUESTS:
        time.sleep(SPREAD_S)


@contextmanager
def blocked() -> Iterator[set[int]]:
    """Block the signals, and yield the previous mask for processes that are started meanwhile.

    Every fork happens inside such a section: an exception during a fork could leave a process that nobody
    ends, and Python drops exceptions of fork hooks.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (*REQUESTS, REMINDER))
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
