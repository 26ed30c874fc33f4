"""The syntax of arms on the command line: an allocator with settings, or a command with settings."""

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeVar

import click

from heaplab.machine.huge_pages import MODES, HugePages
from heaplab.machine.trim_setting import TRIM
from heaplab.options.quantities import read_duration

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
HUGE_PAGES, TRIMMING = "thp", "trim"
TRIM_LEAST_S, TRIM_MOST_S = 0.001, 1e6
FACTORS_MOST = 3  # settings of a factorial: four would make 16 arms
Given = TypeVar("Given")


@dataclass(frozen=True)
class Settings:
    """What an arm sets beyond its allocator or command: environment variables and huge pages."""

    environment: dict[str, str] = field(default_factory=dict)
    huge_pages: HugePages | None = None

    def __bool__(self) -> bool:
        return bool(self.environment or self.huge_pages)


@dataclass(frozen=True)
class GivenAllocator:
    """NAME='ALLOCATOR [SETTING=VALUE]...'."""

    name: str
    base: str  # a name of the catalog, or the path of a library
    settings: Settings = Settings()
    levels: dict[str, str] = field(default_factory=dict)  # of a factorial, by setting

    @property
    def library(self) -> Path | None:
        """The user's library; None for a name of the catalog."""
        return Path(self.base) if is_path(self.base) else None

    @property
    def title(self) -> str:
        variables = self.settings.environment.items()
        settings = [f"trim={value}s" if name == TRIM else f"{name}={value}" for name, value in variables]
        huge = [f"{HUGE_PAGES}={self.settings.huge_pages}"] if self.settings.huge_pages else []
        return " ".join([self.base, *settings, *huge])


@dataclass(frozen=True)
class GivenCommand:
    """NAME='[SETTING=VALUE]... PROGRAM [ARGS]...'."""

    name: str
    words: tuple[str, ...]
    settings: Settings = Settings()


def is_path(base: str) -> bool:
    """Whether the base of an arm is a file and not a name of the catalog."""
    return "/" in base or ".so" in base or Path(base).is_file()


# Of 'ALLOCATOR SETTING=LOW|HIGH ...': an arm for every combination; the first has all low levels.
GivenFactorial = tuple[GivenAllocator, ...]


@dataclass(frozen=True)
class ArmText(click.ParamType[Given, str]):
    """A text that `read` understands, or refuses by a ValueError of one line."""

    name: str
    read: Callable[[str], Given]

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Given:
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


def given_allocator(text: str) -> GivenAllocator:
    """The arm NAME=LIBRARY or NAME='ALLOCATOR [SETTING=VALUE]...'. Raises ValueError."""
    name, _, rest = text.partition("=")
    if not NAME.fullmatch(name) or not rest:
        raise ValueError("it is not NAME=LIBRARY, such as mine=./libmine.so")
    if is_path(rest) and Path(rest).exists():  # its name may hold spaces
        return GivenAllocator(name, rest)
    return allocator_of(name, words_of(rest))


def given_command(text: str) -> GivenCommand:
    """The arm NAME='[SETTING=VALUE]... PROGRAM [ARGS]...'. Raises ValueError."""
    name, _, rest = text.partition("=")
    if not NAME.fullmatch(name) or not rest.strip():
        raise ValueError("it is not NAME=COMMAND, such as new='./server-new --port 0'")
    return command_of(name, words_of(rest))


def words_of(text: str) -> list[str]:
    """The words of an arm, split as by a shell. Raises ValueError for a single quotation mark."""
    try:
        return shlex.split(text)
    except ValueError:
        raise ValueError("a quotation mark has no second one") from None


def allocator_of(name: str, words: list[str]) -> GivenAllocator:
    """Raises ValueError, in one line, if the words do not begin with an allocator."""
    if not words or SETTING.fullmatch(words[0]):
        raise ValueError("names no allocator before its settings; `heaplab show allocators` names them")
    return GivenAllocator(name, words[0], settings_of(words[1:]))


def command_of(name: str, words: list[str]) -> GivenCommand:
    """Raises ValueError, in one line, for settings without a program."""
    first = next((place for place, word in enumerate(words) if not SETTING.fullmatch(word)), len(words))
    if first == len(words):
        raise ValueError("names no program")
    return GivenCommand(name, tuple(words[first:]), settings_of(words[:first]))


def settings_of(words: Iterable[str]) -> Settings:
    """Raises ValueError, in one line, for a word that is no setting, and for a repeated setting."""
    settings: dict[str, str] = {}
    for word in words:
        setting = SETTING.fullmatch(word)
        if not setting:
            raise ValueError(f"{word!r} is no setting; take NAME=VALUE, thp={'|'.join(MODES)} or trim=60s")
        if setting[1] in settings:
            raise ValueError(f"{setting[1]} is set twice")
        settings[setting[1]] = setting[2]
    if TRIMMING in settings:
        settings[TRIM] = trim_interval(settings.pop(TRIMMING))
    mode = settings.pop(HUGE_PAGES, None)
    if mode is not None and mode not in MODES:
        raise ValueError(f"thp={mode} is none of thp={'|'.join(MODES)}")
    return Settings(settings, mode)


def trim_interval(text: str) -> str:
    """The seconds between two calls of malloc_trim. Raises ValueError, in one line."""
    seconds = read_duration(text)
    if seconds is None or not TRIM_LEAST_S <= seconds <= TRIM_MOST_S:
        raise ValueError(f"trim={text} is no time from 1ms to 1000000s, such as trim=60s")
    return f"{seconds:g}"


def factorial_of(words: list[str]) -> GivenFactorial:
    """Raises ValueError, in one line, for words that are no factorial."""
    base = allocator_of("base", words[:1]).base
    levels = {}
    for word in words[1:]:
        name, _, values = word.partition("=")
        pair = values.split("|")
        if not SETTING.fullmatch(word) or len(pair) != 2 or pair[0] == pair[1] or name in levels:
            raise ValueError(f"{word!r} is no SETTING=LOW|HIGH; an empty level leaves the setting alone")
        levels[name] = pair
    if not 1 < len(levels) <= FACTORS_MOST:
        raise ValueError(f"a factorial takes two or {FACTORS_MOST} settings, not {len(levels)}")
    plain = Path(base).name.removesuffix(".so") if is_path(base) else base
    arms = []
    for choice in product(*levels.values()):
        chosen = dict(zip(levels, choice, strict=True))
        texts = [f"{name}={value}" for name, value in chosen.items() if value]
        arms.append(GivenAllocator(" ".join(texts) or plain, base, settings_of(texts), chosen))
    return tuple(arms)


GIVEN_ALLOCATOR = ArmText("name=allocator", given_allocator)
GIVEN_FACTORIAL = ArmText("factorial", lambda text: factorial_of(words_of(text)))
GIVEN_COMMAND = ArmText("name=command", given_command)
