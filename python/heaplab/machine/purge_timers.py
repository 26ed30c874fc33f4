"""Settings with which an allocator has no timers of purging.

A timer runs out at a point of the program's work that chance decides, the more so under callgrind, where the
program takes fifty times as long. So counts of instructions would differ by chance.
"""

from heaplab.machine import setting_proof
from heaplab.results.records import Arm

JEMALLOC = "dirty_decay_ms:-1,muzzy_decay_ms:-1"
# The settings of an allocator, by a text in its file.
WITHOUT = {
    "MALLOC_CONF": {"MALLOC_CONF": JEMALLOC},
    "_rjem_malloc_conf": {"_RJEM_MALLOC_CONF": JEMALLOC},  # jemalloc in a program in Rust
    "purge_delay": {"MIMALLOC_PURGE_DELAY": "-1"},
    "segment_decommit_delay": {"MIMALLOC_ALLOW_DECOMMIT": "0"},  # mimalloc 2.0
    "HEAPLAB_SCALLOC_PURGE_WHEN_IDLE": {"HEAPLAB_SCALLOC_PURGE_WHEN_IDLE": "0"},
    "release_to_os_interval_ms": {"SCUDO_OPTIONS": "release_to_os_interval_ms=-1"},
}


def without_timers(arm: Arm) -> Arm:
    """The arm with the settings that are in effect and that the arm does not choose itself."""
    for text, settings in WITHOUT.items():
        more = {name: value for name, value in settings.items() if name not in arm.environment}
        if more and setting_proof.holds(arm, text):
            changed = setting_proof.proved(
                arm.model_copy(update={"environment": {**arm.environment, **more}})
            )
            arm = arm if changed.void else changed
    return arm
