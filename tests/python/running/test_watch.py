"""What is watched is shown each second, as lines or as a page with keys; a program goes on afterwards."""

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from held_processes import running
from laboratory import call, refusal, success
from rich.console import Console
from subprocesses import HEAPLAB, compiled, heaplab, until

from heaplab.running.watch_page import PageState, page
from heaplab.running.watched import Glance, WatchedSites
from heaplab.traces.recording import Wanted
from heaplab.traces.sample_file import SampleFile, SampleSum
from heaplab.traces.sampling import SamplingPlan
from heaplab.tracing.sampled_callers import SampledCaller, SampledMoment, changes

pytestmark = pytest.mark.starts_programs

# Writes its number, and keeps 100 KB more each 10 ms, until it has so much or is killed.
GROWING = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void* grown(void) { return memset(malloc(100000), 1, 100000); }
int main(int words, char** word) {
  alarm(300);
  FILE* number = fopen("number", "w");
  fprintf(number, "%d\n", getpid());
  fclose(number);
  for (int left = atoi(word[1]); left > 0 && grown(); --left) usleep(10000);
  puts("written");
  return 7;
}
"""
MIB = 1 << 20
MEAN = 1 << 16  # B between two samples
SITES = ("large", "leaking", "steady")
LINE = re.compile(
    r"[\d:]{8}  growing \(\d+\)  resident ([\d.]+) MiB  live .*? \(.* to .*\)  retained .* at least  outs.*"
)


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    return compiled(tmp_path / "growing", GROWING, "-g", "-O1", "-fno-builtin")


def test_a_process_has_a_line_each_second(holding: Path) -> None:
    with running(holding, "stacks") as pid:
        lines = success(call("watch", "--for", "1.5s", pid)).splitlines()
    assert len(lines) == 2
    found = re.fullmatch(
        r"[\d:]{8}  holding \(\d+\)  resident ([\d.]+) MiB  outside malloc ([\d.]+) MiB", lines[1]
    )
    assert found
    assert 40 <= float(found[2]) <= float(found[1]) < 44


def test_a_process_that_ends_ends_the_watch(tmp_path: Path, holding: Path) -> None:
    with running(holding, "live", orderly=False) as pid:
        words = [*HEAPLAB, "watch", pid]
        with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True) as watching:
            assert watching.stdout
            assert "holding" in watching.stdout.readline()
            os.kill(pid, signal.SIGKILL)
            assert watching.wait(60) == 0


def test_a_program_has_lines_on_standard_error_and_its_own_status(tmp_path: Path, growing: Path) -> None:
    done = heaplab(tmp_path, "watch", "--sample", "8KiB", "-o", "x.sample", "--", growing, 500)
    assert (done.returncode, done.stdout) == (7, "written\n")
    assert any(LINE.fullmatch(line) for line in done.stderr.splitlines()), done.stderr
    [last] = SampleFile(tmp_path / "x.sample").snapshots()
    assert (
        abs(last.processes[0].live.bytes - 50_000_000)
        < 6 * last.processes[0].live.bytes_variance ** 0.5 + 1e5
    )
    assert not (tmp_path / "x.sample.raw").exists()


def test_a_program_goes_on_alone_when_the_time_is_over(tmp_path: Path, growing: Path) -> None:
    words = [*HEAPLAB, "watch", "--for", "1s", "--", growing, 30_000]
    with (tmp_path / "said").open("w") as said:  # a pipe would stay open
        done = subprocess.run(
            list(map(str, words)), cwd=tmp_path, stdout=said, stderr=said, check=False, timeout=100
        )
    assert done.returncode == 0
    os.kill(int((tmp_path / "number").read_text()), signal.SIGKILL)
    assert not list(tmp_path.glob("*.raw"))


class Terminal:
    """heaplab on a terminal of its own."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(
                TERM="xterm-256color", COLUMNS="140", LINES="40", DISPLAY="", WAYLAND_DISPLAY=""
            )
            os.execv(sys.executable, [sys.executable, "-m", "heaplab", *map(str, words)])
        self.text = ""

    def press(self, key: str) -> None:
        os.write(self._screen, key.encode())

    def shows(self, pattern: str) -> bool:
        """Whether the text since the last success has this; so far."""
        ready, _, _ = select.select([self._screen], [], [], 0.05)
        if ready:
            try:
                self.text += re.sub(
                    r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(self._screen, 65536).decode(errors="replace")
                )
            except OSError:  # it has ended
                time.sleep(0.05)
        found = re.search(pattern, self.text)
        if found:
            self.text = self.text[found.end() :]
        return bool(found)

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(tmp_path: Path, growing: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path, "watch", "--sample", "8KiB", "--", growing, 30_000)
    yield found
    for pid in (found.pid, int((tmp_path / "number").read_text())):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_a_page_has_call_sites_and_keys(tmp_path: Path, terminal: Terminal) -> None:
    until(lambda: terminal.shows(r"grown \(growing.c:\d+\) < main +[\d.]+ .iB \("), "call sites")
    until(lambda: terminal.shows(r"\+[\d.]+ .iB \(\+[\d.]+ .iB to \+[\d.]+ .iB\)"), "growth")
    terminal.press("s")
    terminal.press("w")
    until(lambda: terminal.shows("growing.sample: a snapshot was added"), "a snapshot")
    terminal.press("b")
    until(lambda: terminal.shows("growing.watch.html: written, to be opened in a browser"), "a copy")
    copy = re.sub("<.*?>|\\s+", " ", (tmp_path / "growing.watch.html").read_text())
    assert re.search(r"resident .* caller .* grown \(growing.c:\d+\) &lt; main +[\d.]+ .iB", copy)
    terminal.press("p")
    until(lambda: terminal.shows("paused   s sorts"), "a paused page")
    terminal.press("q")
    until(
        lambda: not terminal.shows("no such text") and os.waitpid(terminal.pid, os.WNOHANG)[0] != 0, "the end"
    )
    assert len(list(SampleFile(tmp_path / "growing.sample").snapshots())) == 1
    os.kill(int((tmp_path / "number").read_text()), 0)  # the program goes on
    assert not list(tmp_path.glob("*.raw"))


class Still:
    """What a page is of whose keys alone are pressed."""

    def look(self) -> Glance | None:
        return None

    def wait(self, seconds: float) -> None: ...

    def write(self) -> str:
        return "written"


def moment(seconds: float, **live: int) -> SampledMoment:
    """Of the process that began with the machine, with these live bytes by call site."""
    callers = {
        (name,): SampledCaller(name, name, live=SampleSum(bytes // MEAN, bytes, 1, bytes * MEAN))
        for name, bytes in live.items()
    }
    process = SimpleNamespace(begin_ns=0)
    found = SimpleNamespace(mean=MEAN, snapshot=SimpleNamespace(seconds=seconds), process=process)
    found.callers = callers
    return cast(SampledMoment, found)


def lines_of(state: PageState) -> dict[str, str]:
    """What the page says behind each call site, in its order; dim text in brackets."""
    console = Console(record=True, file=io.StringIO(), width=200, force_terminal=True)
    console.print(page(state, 40))
    text = re.sub(r"\x1b\[2m(.*?)\x1b\[0m", r"[\1]", console.export_text(styles=True))
    rows = (line.split(maxsplit=1) for line in re.sub(r"\x1b\[\d+m", "", text).splitlines())
    return {row[0]: " ".join(row[1].split()) for row in rows if row[:1] and row[0] in SITES}


def test_growth_is_that_of_the_last_minute_by_call_site(tmp_path: Path) -> None:
    plan = SamplingPlan(MEAN)
    sites = WatchedSites(Wanted(tmp_path / "x.sample", "none", sampled=plan))
    earlier = [sites._earlier(moment(seconds)).snapshot.seconds for seconds in (0, 59, 60, 61, 130)]
    assert earlier == [0, 0, 0, 59, 130]


def test_a_page_has_growth_in_its_order_with_noise_dim_and_stands_still_while_paused() -> None:
    old = moment(0, large=50 * MIB, leaking=MIB, steady=MIB)
    new = moment(1, large=50 * MIB, leaking=9 * MIB, steady=MIB + MEAN)
    state, source = PageState(Path("copy")), Still()
    state.take(Glance("server", moment=new, grown=changes(old, new)))
    by_live = lines_of(state)
    assert [*by_live] == ["large", "leaking", "steady"]
    assert state.press("s", source)
    by_growth = lines_of(state)
    assert [*by_growth] == ["leaking", "steady", "large"]
    assert by_growth == by_live
    assert re.search(r"to [\d.]+ MiB\) \+8.00 MiB \(\+[\d.]+ MiB to \+[\d.]+ MiB\) 144$", by_live["leaking"])
    assert re.search(r"\[\+64.0 KiB \(-[\d.]+ .iB to \+[\d.]+ .iB\) *\]", by_live["steady"])
    state.press("p", source)
    state.take(Glance("server", moment=old))
    assert lines_of(state) == by_growth
    state.press("p", source)
    state.take(Glance("server", moment=old))
    assert re.fullmatch(r"1.00 MiB \([^)]+\) (\[ *\] )?16", lines_of(state)["leaking"])
    assert not state.press("q", source)


def test_a_process_that_runs_has_call_sites_too_and_goes_on_as_before(tmp_path: Path, growing: Path) -> None:
    with subprocess.Popen([growing, "30000"], cwd=tmp_path) as process:
        page = Terminal(tmp_path, "watch", "--sample", "8KiB", "-o", "x.sample", process.pid)
        try:
            until(lambda: page.shows(r"live, acquired since +[\d.]+ .iB"), "what lives")
            until(lambda: page.shows(r"grown \(growing.c:\d+\) < main .*\+[\d.]+ .iB \(\+"), "its call site")
            page.press("w")
            until(lambda: page.shows("x.sample: a snapshot was added"), "a snapshot")
            os.kill(page.pid, signal.SIGTERM)  # as q does
            until(lambda: page.shows("as before; its threads stood still"), "the end")
            assert page.status() == 0
            assert process.poll() is None
        finally:
            process.kill()
    assert len(list(SampleFile(tmp_path / "x.sample").snapshots())) == 2
    assert not list(tmp_path.glob("*.raw"))


def test_what_does_not_go_together_is_refused() -> None:
    assert "--ask goes with a PID" in refusal(call("watch", "--ask", "--", "true"))
    assert "-o goes with a program, or with --sample" in refusal(call("watch", "-o", "x.sample", os.getpid()))
    assert "there is no process" in refusal(call("watch", 4194303))
