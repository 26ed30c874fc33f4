"""The machine that a trace was recorded on, as ELF numbers them."""

import platform

NAMES = {62: "x86-64", 183: "aarch64"}
HERE = {"x86_64": 62, "aarch64": 183}.get(platform.machine())


def note(machine: int) -> str:
    """What to know of a trace of another machine; "" of one of this."""
    if machine == HERE:
        return ""
    known = NAMES.get(machine, f"a machine that ELF numbers {machine}")
    return f"was recorded on {known}, not on {platform.machine()}: sizes are those of the program there"
