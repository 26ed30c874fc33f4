"""Rooms whose names are imported when they are first asked for (PEP 562).

numpy, scipy, matplotlib and rich take two seconds of CPU time to import: a command that computes and draws
nothing must not pay for them.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def door(room: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a room: `modules` names what it gives away of which module."""
    home = {name: module for module, names in modules.items() for name in names}

    def give(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = getattr(import_module(home[name]), name)
        setattr(import_module(room), name, found)
        return found

    return give
