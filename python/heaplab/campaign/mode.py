"""The probe before and after a run: how fast the core is at that moment, whatever the allocator."""

import subprocess

from heaplab.catalog import native
from heaplab.machine.execute import plain_environment
from heaplab.records import Probes

PROGRAM = "mode_probe"  # src/probes/mode_probe.cpp
PATIENCE_S = 10.0


def probe() -> float | None:
    """Seconds that the work of the probe takes now; None if the probe is not installed, or failed.

    A run costs two probes of about 2 ms each, and the time to start them.
    """
    program = native.helper(PROGRAM)
    if program is None:
        return None
    try:
        answer = subprocess.run(
            [program],
            env=plain_environment(),
            capture_output=True,
            check=True,
            timeout=PATIENCE_S,
            close_fds=False,  # Python's descriptors are closed at exec in any case
        )
        return int(answer.stdout.split()[0]) * 1e-9
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def probes_of(before: float | None, after: float | None) -> Probes | None:
    return Probes(before=before, after=after) if before and after else None
