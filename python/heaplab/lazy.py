"""Rooms whose names are imported when they are first asked for (PEP 562).

numpy, scipy, matplotlib and rich take two seconds of CPU time to import: a command that computes and draws
nothing must not pay for them. A room lists its names once, as imports that only type checkers carry out.
"""

import ast
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def door(room: str) -> Callable[[str], Any]:
    """The `__getattr__` of a room: imports what stands below its `if TYPE_CHECKING:`, name by name."""

    @cache
    def home() -> dict[str, str]:
        return homes(pkgutil.get_data(room, "__init__.py") or b"")

    def give(name: str) -> Any:
        if name not in home():
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = getattr(import_module(home()[name]), name)
        setattr(import_module(room), name, found)
        return found

    return give


def homes(source: bytes) -> dict[str, str]:
    """The module that each name comes from which a room's source imports below `if TYPE_CHECKING:`."""
    return {
        alias.name: node.module
        for branch in ast.parse(source).body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
