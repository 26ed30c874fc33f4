"""What `heaplab gate` does: it fails if, and only if, something is worse than its limit allows."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from heaplab import analysis
from heaplab.campaign.begin_or_resume import Request
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.comparison.benchmark import Benchmark, benchmark_of, benchmark_of_commands, request_of
from heaplab.comparison.outlook import BudgetOutlook
from heaplab.comparison.run_campaign import TO_GO_ON, opened_for, run_campaign
from heaplab.comparison.shown_results import load, without_figure
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError, UsageError
from heaplab.gate import auto_budget
from heaplab.gate.count_instructions import counted, is_uncounted
from heaplab.gate.fall_back import PointlessTimes, counts_of_silent
from heaplab.options import chosen_arms, command_arms
from heaplab.options.arm_options import GivenAllocator, GivenCommand, allocator_of, command_of, words_of
from heaplab.options.given_options import GateOptions, Subject
from heaplab.options.measuring_options import CALLGRIND, COUNTERS, ONLY_CALLGRIND, refuse_program_beside_suite
from heaplab.options.option_types import DEFAULT_PARENT
from heaplab.options.program_command import TYPED
from heaplab.report.terminal import gate_output
from heaplab.results.records import Arm, Run
from heaplab.results.store import Results
from heaplab.screen.console import console
from heaplab.screen.exit_status import DONE
from heaplab.screen.notes import note
from heaplab.traces import foreign

WORSE, COULD_NOT_TELL = 3, 4  # exit statuses; the second with --strict
COUNTED_SHARE = 0.5  # of the budget, for counting beside times
OLD, NEW = "old", "new"


def gate(extra: tuple[Path, ...], old: str, new: str, program: tuple[str, ...], options: GateOptions) -> int:
    """Compare, judge, print the result; return the exit status."""
    refuse_program_beside_suite(program, options.suite)
    subject = Subject(program=program, suite=options.suite, source=options.source)
    catalog = catalogs.load(extra)
    given = [arm_given(catalog, name, text) for name, text in ((OLD, old), (NEW, new))]
    if options.instructions == COUNTERS and is_typed("max_instructions") and not options.auto:
        refuse_uncounted(given, program)
    arms, benchmark = compared(catalog, given, subject, options.quiet)
    if is_typed("budget"):
        benchmark = benchmark.with_most_blocks()
    request, folder = request_of(benchmark, arms, options), options.output or DEFAULT_PARENT / "gate"
    limits = limits_of(options)
    whole = WholeBudget(auto_budget.MOST_S if options.automatic else request.budget, options.began)
    paths, stopped = measured(request, folder, limits, options, whole)
    if options.instructions == COUNTERS and not stopped:
        timed = analysis.Analysis(load(paths[0]))
        paths += counts_of_silent(timed, request, folder, limits, options, whole)
    results = [load(path) for path in paths]
    return tell(judged(results, limits), results, options) or int(bool(stopped))


def measured(
    request: Request, folder: Path, limits: analysis.GateLimits, options: GateOptions, whole: WholeBudget
) -> tuple[list[Path], str]:
    """The results files of a gate, and why measuring was stopped, "" if it was not."""
    asked = replace(request, precision=precision_of(options, limits))
    paths: list[Path] = []
    if options.instructions != COUNTERS:
        part = COUNTED_SHARE if options.instructions == CALLGRIND else 1.0
        request, share = whole.rest(asked, part)
        paths = counted(request, folder, options, share)
    if options.instructions == ONLY_CALLGRIND:
        return paths, ""
    request, share = whole.rest(asked)
    campaign, needed = opened_for(request, folder, options, share)
    pointless = PointlessTimes(request, limits, whole) if options.auto else None
    outlook = BudgetOutlook(limits.slower, asked.budget)
    stopped = run_campaign(campaign, needed, options, TO_GO_ON, pointless, outlook, limits)
    if options.automatic and not stopped:
        stopped = auto_budget.go_on(campaign.store.path, request, limits, options, pointless)
    return [campaign.store.path, *paths], stopped


def limits_of(options: GateOptions) -> analysis.GateLimits:
    """One limit governs time and counts unless two are given."""
    counts = options.max_slower if options.max_instructions is None else options.max_instructions
    slower = options.max_slower if is_typed("max_slower") else counts
    return analysis.GateLimits(slower, options.max_memory, counts)


def precision_of(options: GateOptions, limits: analysis.GateLimits) -> float:
    """The precision that the user typed, or else at most half of the limit for time.

    With half the limit, neither the interval of NEW nor that of OLD against itself, which gives the noise
    floor, exceeds the limit by its width alone.
    """
    return options.precision if is_typed("precision") else min(options.precision, limits.slower / 2)


def is_typed(parameter: str) -> bool:
    """Whether the user typed the option, rather than leaving it at its default."""
    return parameter in click.get_current_context().meta[TYPED]


def refuse_uncounted(given: Sequence[GivenAllocator | GivenCommand], program: tuple[str, ...]) -> None:
    """Raise UsageError for commands and programs: only heaplab's workloads read the processor's counters."""
    commands = any(isinstance(arm, GivenCommand) for arm in given)
    if commands or (program and not foreign.names_a_trace(program)):
        raise UsageError(
            "--max-instructions: nothing counts the instructions of a program; add --instructions callgrind"
        )


def compared(
    catalog: Catalog, given: Sequence[GivenAllocator | GivenCommand], subject: Subject, quiet: bool
) -> tuple[list[Arm], Benchmark]:
    commands = [arm for arm in given if isinstance(arm, GivenCommand)]
    if not commands:
        arms = allocator_arms(catalog, [arm for arm in given if isinstance(arm, GivenAllocator)])
        return arms, benchmark_of(catalog, arms, subject, quiet)
    if len(commands) < len(given) and not shutil.which(commands[0].words[0]):
        raise UsageError(
            f"gate: {commands[0].words[0]!r} is no allocator, no library and no program; "
            "`heaplab show allocators` names the allocators"
        )
    if len(commands) < len(given) or subject.program or subject.suite is not None:
        raise UsageError(
            f"gate: {shlex.join(commands[0].words)!r} is a command, compared with commands alone; "
            "a library has .so in its name, `heaplab show allocators` names the others"
        )
    arms = [command_arms.arm_of_command(command) for command in commands]
    return arms, benchmark_of_commands(arms, subject, quiet)


def arm_given(catalog: Catalog, name: str, text: str) -> GivenAllocator | GivenCommand:
    """The arm that OLD or NEW names: a library, an allocator with settings, or else a command."""
    try:
        words = words_of(text)
        if words and (words[0] in catalog.allocator_names() or ".so" in Path(words[0]).name):
            return allocator_of(name, words)
        return command_of(name, words)
    except ValueError as error:
        raise UsageError(f"gate: {text!r}: {error}") from None


def allocator_arms(catalog: Catalog, given: Sequence[GivenAllocator]) -> list[Arm]:
    catalog = chosen_arms.with_own(catalog, given)
    arms = [chosen_arms.arm_of(catalog, each.name) for each in given]
    for arm in arms:
        if arm.void:
            raise UsageError(f"{arm.allocator}: {arm.void}; there is nothing to judge")
    return arms


def judged(
    results: Sequence[Results],
    limits: analysis.GateLimits,
    kept: analysis.Kept | None = None,
    remarks: Sequence[str] = (),
) -> analysis.Gate:
    """The verdicts, and the runs that failed. Raises HeaplabError if there is neither.

    `kept` are the values of OLD if an earlier campaign measured it.
    """
    measured = [analysis.Analysis(result) for result in results]
    cells = analysis.gate_cells(measured, limits, kept)
    lost = lost_runs(results)
    if cells or lost:
        pilots = [result.campaign.pilot for result in results if result.campaign.pilot]
        coverage = pilots[0].coverage if pilots else ()
        return analysis.Gate(cells, lost, coverage, analysis.beside(measured, kept), remarks)
    if any(result.end and result.end.reason == "budget" for result in results):
        raise HeaplabError("gate: the budget was spent before anything was measured: give --budget more time")
    raise HeaplabError("gate: there is nothing to judge")


def lost_runs(results: Sequence[Results]) -> list[Run]:
    """The planned runs that gave no figure, but for what callgrind cannot count."""
    return [run for result in results for run in without_figure(result.runs) if not is_uncounted(result, run)]


def write_bencher(gate: analysis.Gate, path: Path) -> None:
    """Write the file for bencher.dev. Without a figure there is none, also of an earlier gate."""
    if metrics := gate_output.as_bencher(gate):
        path.write_text(json.dumps(metrics, indent=2))
        return
    if path.is_file():
        path.unlink()
    note(f"{path}: not written, because nothing was compared")


def tell(gate: analysis.Gate, results: Sequence[Results], options: GateOptions) -> int:
    """Print the verdicts and write the files asked for; return the exit status.

    Raises HeaplabError if runs failed.
    """
    if is_typed("max_instructions") and not any(cell.metric == analysis.INSTRUCTIONS for cell in gate.cells):
        note("--max-instructions decided nothing: no instructions were counted; see --instructions")
    command = shlex.join(results[0].campaign.command)
    if options.markdown:
        options.markdown.write_text(gate_output.as_markdown(gate, command), encoding="utf-8")
    if options.junit:
        gate_output.write_junit(gate, options.junit)
    if options.bencher:
        write_bencher(gate, options.bencher)
    if options.as_json:
        click.echo(json.dumps(gate_output.plain_gate(gate)))
    else:
        gate_output.print_gate(gate, console())
    if gate.outcome is analysis.GateOutcome.FAILED:
        raise HeaplabError(f"gate: {gate.why_failed}")
    could_not_tell = COULD_NOT_TELL if options.strict else DONE
    return {analysis.GateOutcome.WORSE: WORSE, analysis.GateOutcome.COULD_NOT_TELL: could_not_tell}.get(
        gate.outcome, DONE
    )
