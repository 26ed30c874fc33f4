"""What is watched is shown each second, as lines or as a page with keys; a program goes on afterwards."""

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

import pytest
from held_processes import running
from laboratory import call, refusal, success
from subprocesses import HEAPLAB, compiled, heaplab, until

from heaplab.traces.sample_file import SampleFile

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
