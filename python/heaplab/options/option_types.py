"""The types of option values. A bad value is refused with one line that says what is allowed."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from heaplab.errors import UsageError
from heaplab.options.quantities import read_duration, read_size, show_duration, show_size

MACHINE_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # B
LONGEST_S = 8760 * 3600  # a year
DEFAULT_PARENT = Path("out")  # commands make this folder too, where their results go by default


@dataclass(frozen=True)
class Quantity(click.ParamType[float, str | float]):
    """A number with a unit, between two bounds. The error messages are those of heaplab's workloads."""

    name: str
    examples: str
    read: Callable[[str], float | None]
    show: Callable[[float], str]
    least: float
    most: float
    bound: str = ""  # a remark on the largest value, for the error message

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if not isinstance(value, str):
            return value
        allowed = f"{self.show(self.least)} to {self.show(self.most)}{self.bound}"
        amount = self.read(value)
        if amount is None:
            self.fail(f"{value!r} is not a {self.name} ({self.examples}); allowed is {allowed}", param, ctx)
        if not self.least <= amount <= self.most:
            self.fail(f"{value} is outside {allowed}", param, ctx)
        return amount


class Durations(click.ParamType[list[float], str | list[float]]):
    """Durations, separated by commas."""

    name = "durations"

    def convert(
        self, value: str | list[float], param: click.Parameter | None, ctx: click.Context | None
    ) -> list[float]:
        if isinstance(value, list):
            return value
        return [DURATION.convert(part.strip(), param, ctx) for part in value.split(",")]


class Names(click.ParamType[tuple[str, ...], str | tuple[str, ...]]):
    """Names, separated by commas."""

    name = "names"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if not isinstance(value, str):
            return value
        parsed = tuple(filter(None, map(str.strip, value.split(","))))
        return parsed or self.fail("no name given", param, ctx)


class QuantityOrWord(click.ParamType[float | str, str | float]):
    """A quantity, or a word that stands for it."""

    def __init__(self, quantity: Quantity, word: str) -> None:
        self.quantity, self.word = quantity, word
        self.name = f"{quantity.name}|{word}"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        if value == self.word:
            return value
        try:
            return self.quantity.convert(value, param, ctx)
        except click.UsageError as error:
            raise click.BadParameter(f"{error.message}, or {self.word}", ctx, param) from None


class Percentage(click.ParamType[float, str | float]):
    """A percentage between 0 and 100, as a fraction."""

    name = "percent"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        parsed = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%?", value)
        if not parsed or not 0 < float(parsed[1]) < 100:
            self.fail(f"{value!r} is no percentage between 0 and 100, such as 2%", param, ctx)
        return float(parsed[1]) / 100


class Seed(click.ParamType[int, str | int]):
    """A seed: a whole number that still fits in 64 bits when the number of a block is added."""

    name = "seed"
    most = (1 << 63) - 1

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", str(value)) or int(value) > self.most:
            self.fail(f"{value!r} is no whole number from 0 to {self.most}", param, ctx)
        return int(value)


class PathArgument(click.Path[Path]):
    """A file or folder. An empty name, as of an unset shell variable, is refused."""

    def __init__(self, **kinds: bool) -> None:
        super().__init__(path_type=Path, **kinds)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        if not value:
            self.fail("the name is empty; `.` is the current folder", param, ctx)
        path = super().convert(value, param, ctx)
        if fault := self.fault_of(path):
            self.fail(f"{path}: {fault}", param, ctx)
        return path

    def fault_of(self, path: Path) -> str:
        """What is wrong with the path, in one line; "" if nothing is."""
        return ""


class OutputFile(PathArgument):
    """A file to write, in a folder that is there: else it is refused before anything is measured."""

    def fault_of(self, path: Path) -> str:
        if os.path.isdir(path):
            return "is a folder"
        if not os.path.exists(path):
            return fault_of_folder(path.parent)
        return "" if os.access(path, os.W_OK) else "cannot be written"

    def refuse_unwritable(self, path: Path) -> None:
        """Raise UsageError for a path that no option names, such as a default."""
        if fault := self.fault_of(path):
            raise UsageError(f"{path}: {fault}")


class OutputFolder(PathArgument):
    """A folder that the command fills. It is made, but its parent is not: that may be a misspelt path."""

    def fault_of(self, path: Path) -> str:
        if os.path.exists(path):
            return fault_of_folder(path)
        made = path.parent == DEFAULT_PARENT and not os.path.exists(DEFAULT_PARENT)
        return fault_of_folder(Path() if made else path.parent)


def fault_of_folder(folder: Path) -> str:
    """Why no file can be added to a folder, in one line; "" if one can."""
    if not os.path.exists(folder):
        return f"there is no folder {folder}"
    writable = os.path.isdir(folder) and os.access(folder, os.W_OK)
    return "" if writable else f"{folder} is no folder that can be written to"


SIZE = Quantity(
    name="size",
    examples="64, 8KiB, 2GB",
    read=read_size,
    show=show_size,
    least=1,
    most=MACHINE_MEMORY,
    bound=", this machine's memory",
)
# With less than 1 MiB no process starts: it needs page tables, a stack and the loader.
MEMORY_LIMIT = replace(SIZE, least=1 << 20)
# A recording takes at least this for each process.
TRACE_LIMIT = replace(SIZE, least=1 << 16)
DURATION = Quantity(
    name="duration",
    examples="2s, 200ms, 5m",
    read=read_duration,
    show=show_duration,
    least=0.001,
    most=LONGEST_S,
)
# Starting a process takes milliseconds.
TIME_LIMIT = replace(DURATION, least=0.1)
HIGH = "memory.high"  # of the control group: where the kernel begins to throttle and to reclaim
AUTO = "auto"  # a budget: as long as what is asked needs, at most LONGEST_AUTO_S
LONGEST_AUTO_S = 1800.0
NAMES = Names()
DURATIONS = Durations()
DURATION_OR_AUTO = QuantityOrWord(DURATION, AUTO)
MEMORY_MARK = QuantityOrWord(SIZE, HIGH)
SHARE = Percentage()
SEED = Seed()
PLACE = PathArgument()
FOLDER = PathArgument(file_okay=False)
FILE = PathArgument(dir_okay=False)
OUTPUT_FILE = OutputFile(dir_okay=False)
OUTPUT_FOLDER = OutputFolder(file_okay=False)


def output_file(text: str) -> Callable[[Any], Any]:
    """The option -o of a command that writes one file."""
    return click.option("-o", "--output", type=OUTPUT_FILE, help=text)
