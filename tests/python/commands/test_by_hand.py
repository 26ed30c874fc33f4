"""What surrounds a measurement: commands by hand, hooks, the manual, completion, several campaigns."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import synthetic
from laboratory import COMMANDS, WARM, Laboratory, failure, refusal, success
from subprocesses import printed_by, ran

from heaplab.analysis import Analysis
from heaplab.report.page.hosts import warning
from heaplab.results.records import Status

ROOT = Path(__file__).parents[3]
COMPLETED = "from heaplab import commands; commands.main()"


def command_lines(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line and not line.startswith("#")]


def test_the_command_of_a_cell_runs_as_it_is_printed(lab: Laboratory, libraries: dict[str, Path]) -> None:
    printed = success(lab.run("--show-command"))
    assert not lab.out.exists()
    lines = command_lines(printed)
    assert len(lines) == 2 * 3  # cells, arms
    (slow,) = [line for line in lines if str(libraries["slow"]) in line and "--size 2" in line]
    assert str(libraries["slow"]) in printed_by("sh", "-c", f"{slow} --json fd:1")


def test_settings_and_what_a_command_line_cannot_do_are_shown(lab: Laboratory) -> None:
    words = ("--allocator", "one=glibc MALLOC_ARENA_MAX=1 thp=never", "--allocator", "bad=glibc FOO=1")
    _, printed = lab.heaplab("compare", "--experiment", "fake/one", *words, "--show-command")
    assert "env MALLOC_ARENA_MAX=1 " in printed
    assert "# heaplab sets thp=never by prctl" in printed
    assert "# void: glibc has no setting FOO" in printed


def hooked(lab: Laboratory, *words: str) -> tuple[int, str]:
    short = ("--budget", "2s", "--precision", "90%", "-o", lab.out, *WARM)
    arms = ("--allocators", "glibc", "--allocator", "one=glibc MALLOC_ARENA_MAX=1")
    return lab.heaplab("compare", *arms, *short, *words, "--", "sleep", "0.06")


def test_hooks_run_around_every_execution_and_are_not_measured(lab: Laboratory, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooked(lab, "--prepare", f"sleep 0.2; echo before >> {log}", "--cleanup", f"echo after >> {log}")
    words = log.read_text().split()
    assert words == ["before", "after"] * (len(words) // 2)
    good = lab.good("glibc")
    assert good
    assert min(run.process.wall_time for run in good) < 0.2


def test_a_hook_that_fails_gives_a_reason_and_no_figure(lab: Laboratory) -> None:
    printed = failure(hooked(lab, "--prepare", "echo no disk; exit 7"))
    assert "--prepare 'echo no disk; exit 7' failed with exit status 7: no disk" in printed
    assert {run.status for run in lab.results().runs} == {Status.SKIPPED}


def test_hooks_are_for_a_program(lab: Laboratory) -> None:
    printed = refusal(lab.heaplab("compare", "--suite", "fake", "--prepare", "true"))
    assert "--prepare and --cleanup go with a program" in printed


def analysis_on(folder: Path, cpu: str) -> Analysis:
    head, host, *rest = synthetic.campaign(["glibc", "jemalloc"], synthetic.experiments()[:1], blocks=5)
    other = host.model_copy(update={"facts": host.facts | {"cpu": cpu}})
    return synthetic.analysis_of([head, other, *rest], folder / cpu)


def test_two_campaigns_of_one_machine_come_with_a_warning(tmp_path: Path) -> None:
    here, there = (analysis_on(tmp_path, cpu) for cpu in ("here", "there"))
    assert warning([here, there]) == ""
    said = warning([here, there, here])
    assert "Campaigns 1 and 3 were measured on one machine at different times" in said
    assert "heaplab gate OLD NEW" in said


def test_the_command_report_says_the_warning_too(lab: Laboratory, tmp_path: Path) -> None:
    here = analysis_on(tmp_path, "here").results.path
    printed = success(lab.heaplab("report", here, here, "-o", tmp_path / "report.html"))
    assert "were measured on one machine at different times" in printed


def test_the_manual_page_has_every_command_and_option_and_man_takes_it(tmp_path: Path) -> None:
    printed = printed_by(sys.executable, ROOT / "packaging/manual_page.py")
    plain = printed.replace("\\-", "-")
    for name, command in COMMANDS.items():
        assert f".SH HEAPLAB {name.upper()}" in plain
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden:
                assert all(word in plain for word in option.opts)
    assert "\n.TP\n.B 3\n" in plain
    if groff := shutil.which("groff"):
        (tmp_path / "heaplab.1").write_text(printed)
        assert ran(groff, "-man", "-Tutf8", "-ww", tmp_path / "heaplab.1", check=True).stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_each_shell(shell: str) -> None:
    around = os.environ | {"_HEAPLAB_COMPLETE": f"{shell}_source"}
    printed = ran(sys.executable, "-c", COMPLETED, env=around, check=True).stdout
    assert "_HEAPLAB_COMPLETE" in printed
