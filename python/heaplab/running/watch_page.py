"""The page of `heaplab watch` on a terminal, its keys, and a copy of it for a browser."""

import contextlib
import io
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from heaplab.running.watch_lines import Watchable, figures
from heaplab.running.watched import Glance
from heaplab.traces import estimates
from heaplab.tracing.sample_terminal import signed
from heaplab.tracing.trace_terminal import course

INTERVAL_S = 1.0
BEHIND = 12  # lines of the page that are not of call sites
KEYS = "s sorts by live bytes or by growth   p pauses   w writes a snapshot   b opens a browser   q quits"
ALL = 10_000  # lines of a page that is not cut
WIDTH = 200  # characters of a line in the browser


@dataclass
class PageState:
    copy: Path  # for the browser
    by_growth: bool = False
    paused: bool = False
    said: str = ""
    last: Glance = field(default_factory=lambda: Glance(""))
    resident: list[int] = field(default_factory=list)  # at each second

    def press(self, key: str, source: Watchable) -> bool:
        """Whether the page goes on."""
        if key == "s":
            self.by_growth = not self.by_growth
        elif key == "p":
            self.paused = not self.paused
        elif key == "w":
            self.said = source.write()
        elif key == "b":
            self.said = show_in_browser(page(self, ALL), self.copy)
        return key != "q"

    def take(self, glance: Glance) -> None:
        self.resident.append(glance.resident)
        if not self.paused:
            self.last = glance


def show(source: Watchable, seconds: float, copy: Path) -> None:
    """Until the time is over, what is watched has ended, or the user quits."""
    state, console = PageState(copy), Console()
    ends = time.monotonic() + seconds
    with unbuffered_keys() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
        while (began := time.monotonic()) < ends and (glance := source.look()):
            state.take(glance)
            next_at = min(ends, max(began + INTERVAL_S, time.monotonic()))
            live.update(page(state, console.height), refresh=True)
            while (left := next_at - time.monotonic()) > 0:
                if key := key_within(keys, left):
                    if not state.press(key, source):
                        return
                    live.update(page(state, console.height), refresh=True)


def show_in_browser(shown: RenderableType, copy: Path) -> str:
    """Write the page with all of its call sites; return what is said of it."""
    console = Console(record=True, file=io.StringIO(), width=WIDTH)
    console.print(shown)
    try:
        console.save_html(str(copy))
    except OSError as error:
        return f"{copy}: {error.strerror}"
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    # Without a screen, a text browser would take the terminal.
    opened = has_screen and click.launch(str(copy)) == 0
    return f"{copy}: {'opened in a browser' if opened else 'written, to be opened in a browser'}"


@contextlib.contextmanager
def unbuffered_keys() -> Iterator[int]:
    keys = sys.stdin.fileno()
    before = termios.tcgetattr(keys)
    tty.setcbreak(keys)
    try:
        yield keys
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


def key_within(keys: int, seconds: float) -> str:
    ready, _, _ = select.select([keys], [], [], seconds)
    return os.read(keys, 1).decode(errors="replace") if ready else ""


def page(state: PageState, height: int) -> RenderableType:
    glance = state.last
    head = Table.grid(padding=(0, 2))
    for label, text in (*figures(glance), ("course", course(state.resident) if state.resident else "")):
        head.add_row(Text(label, style="bold"), text)
    parts: list[RenderableType] = [Text(glance.title, style="bold"), head]
    if glance.moment:
        parts.append(callers(glance, state.by_growth, max(1, height - BEHIND)))
    paused = "paused   " if state.paused else ""
    return Group(*parts, Text(state.said), Text(f"{paused}{KEYS}", style="dim"))


def callers(glance: Glance, by_growth: bool, most: int) -> Table:
    assert glance.moment
    changed = {change.name: change for change in glance.grown}
    rows = list(glance.moment.callers.values())
    if by_growth:
        rows.sort(key=lambda caller: -(changed[caller.name].by.value if caller.name in changed else 0))
    else:
        rows.sort(key=lambda caller: -caller.live.bytes)
    table = Table(box=None, padding=(0, 2, 0, 0), title_justify="left")
    for column in ("caller", "live", "within a minute", "samples"):
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for caller in rows[:most]:
        change = changed.get(caller.name)
        growth = Text(signed(change.by) if change else "", style="" if change and change.is_shown else "dim")
        live = estimates.of_bytes(caller.live, glance.moment.mean).text("B")
        table.add_row(Text(caller.name), live, growth, str(caller.live.samples))
    return table
