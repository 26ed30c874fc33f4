"""Modules that are imported when they are first used, and rooms whose names are (PEP 562).

numpy, scipy and matplotlib take two seconds of CPU time to import, pydantic, rich and pyelftools some
0.05 each: a command that has no use for them must not pay for them. A room lists its names once, as imports
that only type checkers carry out.
"""

import ast
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def module(name: str) -> Any:
    """The module of this name; its code runs when an attribute is first asked for. ImportError: not there."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module named {name}", name=name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    late = importlib.util.module_from_spec(spec)
    sys.modules[name] = late
    spec.loader.exec_module(late)
    return late


def package(name: str, *parts: str) -> Any:
    """The package of this name; the code of these modules of it runs when an attribute is first asked for."""
    found = import_module(name)
    for part in parts:
        setattr(found, part, module(f"{name}.{part}"))
    return found


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
