"""Kinds of option values, each refused with one line that says what is allowed."""

import re
from pathlib import Path

import click

SIZE_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
TIME_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class Quantity(click.ParamType):
    """A number above zero with a unit."""

    def __init__(self, name: str, units: dict[str, int], example: str) -> None:
        self.name = name
        self._units = units
        self._example = example

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([A-Za-z]*)", str(value))
        if not found or found[2] not in self._units or float(found[1]) <= 0:
            self.fail(f"{value!r} is no {self.name} above zero, such as {self._example}", param, ctx)
        return float(found[1]) * self._units[found[2]]


class Share(click.ParamType):
    """A percentage between 0 and 100, as a fraction."""

    name = "percent"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)%?", value)
        if not found or not 0 < float(found[1]) < 100:
            self.fail(f"{value!r} is no percentage between 0 and 100, such as 2%", param, ctx)
        return float(found[1]) / 100


class NamedLibrary(click.ParamType):
    """NAME=LIBRARY: an allocator of the user's."""

    name = "name=library"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        name, equals, library = value.partition("=")
        if not equals or not library or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            self.fail(f"{value!r} is not NAME=LIBRARY, such as mine=./libmine.so", param, ctx)
        return name, Path(library)


SIZE = Quantity("size", SIZE_UNITS, "512MiB")
DURATION = Quantity("duration", TIME_UNITS, "90s or 5m")
SHARE = Share()
NAMED_LIBRARY = NamedLibrary()
