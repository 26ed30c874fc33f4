"""The kind of machine that a trace was recorded on, by its number in ELF files."""

import platform

NAMES = {62: "x86-64", 183: "aarch64"}
HERE = {"x86_64": 62, "aarch64": 183}.get(platform.machine())


def note(machine: int) -> str:
    """A note on a trace from another kind of machine; "" for a trace from this kind."""
    if machine == HERE:
        return ""
    known = NAMES.get(machine, f"a machine that ELF numbers {machine}")
    return f"was recorded on {known}, not on {platform.machine()}: sizes are those of the program there"
