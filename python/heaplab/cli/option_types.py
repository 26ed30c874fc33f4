"""Kinds of option values, each refused with one line that says what is allowed."""

import os
import re
from pathlib import Path

import click

SIZE_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
TIME_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
MACHINE_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # B
LONGEST_H = 8760  # a year


class Quantity(click.ParamType[float, str | float]):
    """A number with a unit, between two bounds in the base unit, which `allowed` spells out."""

    def __init__(self, name: str, units: dict[str, int], bounds: tuple[float, float], allowed: str) -> None:
        self.name = name
        self._units = units
        self._least, self._most = bounds
        self._allowed = allowed

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([A-Za-z]*)", str(value))
        known = found is not None and found[2] in self._units
        amount = float(found[1]) * self._units[found[2]] if found and known else 0.0
        if not self._least <= amount <= self._most:
            self.fail(f"{value!r} is no {self.name} from {self._allowed}", param, ctx)
        return amount


class Percentage(click.ParamType[float, str | float]):
    """A percentage between 0 and 100, as a fraction."""

    name = "percent"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)%?", value)
        if not found or not 0 < float(found[1]) < 100:
            self.fail(f"{value!r} is no percentage between 0 and 100, such as 2%", param, ctx)
        return float(found[1]) / 100


class Seed(click.ParamType[int, str | int]):
    """A whole number to which that of a block can be added within 64 bits."""

    name = "seed"
    most = (1 << 63) - 1

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", str(value)) or int(value) > self.most:
            self.fail(f"{value!r} is no whole number from 0 to {self.most}", param, ctx)
        return int(value)


class PathArgument(click.Path[Path]):
    """A file or folder. The empty name would be the current folder, and is what an unset variable gives."""

    def __init__(self, **kinds: bool) -> None:
        super().__init__(path_type=Path, **kinds)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        if not value:
            self.fail("the name is empty; `.` is the current folder", param, ctx)
        return super().convert(value, param, ctx)


SIZE = Quantity(
    "size",
    SIZE_UNITS,
    (1, MACHINE_MEMORY),
    f"1B to this machine's memory of {MACHINE_MEMORY >> 20}MiB, such as 512MiB",
)
DURATION = Quantity("duration", TIME_UNITS, (0.001, LONGEST_H * 3600), f"0.001s to {LONGEST_H}h, such as 90s")
SHARE = Percentage()
SEED = Seed()
PLACE = PathArgument()
FOLDER = PathArgument(file_okay=False)
FILE = PathArgument(dir_okay=False)
