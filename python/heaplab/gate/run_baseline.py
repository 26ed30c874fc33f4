"""What `heaplab gate --baseline` does: it compares a build with what was kept of an earlier one."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from heaplab import analysis
from heaplab.catalog import contents as catalogs
from heaplab.comparison.benchmark import request_of
from heaplab.comparison.shown_results import load
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError, UsageError
from heaplab.gate import baseline_file, run_gate
from heaplab.machine import callgrind
from heaplab.options.arm_options import GivenAllocator, GivenCommand
from heaplab.options.given_options import GateOptions, Subject
from heaplab.options.measuring_options import CALLGRIND, refuse_program_beside_suite
from heaplab.options.option_types import DEFAULT_PARENT
from heaplab.results.store import Results
from heaplab.screen.notes import note

BLOCKS = 10  # memory varies little, and no time decides how many blocks it takes
NO_TIMES = (
    "Times are not compared: those of another run differ by more than a limit, also on the same kind of "
    "machine. Build both on one runner for that: heaplab gate OLD NEW."
)


def gate(
    extra: tuple[Path, ...], first: str, second: str, program: tuple[str, ...], options: GateOptions
) -> int:
    """Measure NEW, or PROGRAM as it is; keep that, or judge it by what was kept. Return the exit status.

    `first` and `second` are the words before PROGRAM, of which the first is NEW if there is one.
    """
    path, new = options.baseline, first
    if path is None:
        raise UsageError("--update goes with --baseline FILE")
    if second:
        raise UsageError(f"--baseline takes no OLD beside it: {first}")
    what = subject_of(new, program, options)
    known = baseline_file.read(path, what) if path.exists() else baseline_file.Baseline(subject=what)
    if not known.runs and not options.update:
        raise UsageError(f"{path}: there is no such file; --update keeps a baseline in it")
    facts = baseline_file.facts_here()
    old = known.of_kind(facts)
    if old is None and not options.update:
        said = f"{path}: nothing was kept on this kind of machine ({known.why_none(facts)}); --update adds it"
        note(said)
        if options.markdown:
            options.markdown.write_text(f"**heaplab gate: COULD NOT TELL:** {said}\n", encoding="utf-8")
        return run_gate.COULD_NOT_TELL if options.strict else 0
    paths = measured(extra, new, program, options)
    results = [load(each) for each in paths]
    if options.update:
        keep(path, known, results, facts)
        return 0
    assert old
    remarks = [f"OLD is what {path} kept at {old.taken}.", NO_TIMES]
    return run_gate.tell(
        run_gate.judged(results, run_gate.limits_of(options), old.kept, remarks), results, options
    )


def subject_of(new: str, program: tuple[str, ...], options: GateOptions) -> str:
    """What is measured, in words that stay the same from build to build. Raises UsageError if nothing is."""
    refuse_program_beside_suite(program, options.suite)
    if not new and not program:
        raise UsageError("gate: --baseline FILE -- PROGRAM, or --baseline FILE NEW [-- PROGRAM]")
    suite = [] if program or not new else ["--suite", options.suite or "quick"]
    return shlex.join([*filter(None, [new]), *suite, *(["--", *program] if program else [])])


def measured(extra: tuple[Path, ...], new: str, program: tuple[str, ...], options: GateOptions) -> list[Path]:
    """The results files, of memory and of counts. Raises Exit if measuring is stopped."""
    options = counting(options)
    catalog = catalogs.load(extra)
    given: GivenAllocator | GivenCommand = (
        run_gate.arm_given(catalog, run_gate.NEW, new) if new else GivenCommand(run_gate.NEW, program)
    )
    of_command = isinstance(given, GivenCommand)
    subject = Subject(
        program=() if of_command else program,
        suite=None if of_command else options.suite,
        source=options.source,
    )
    arms, benchmark = run_gate.compared(catalog, [given], subject, options.quiet)
    # Cells keep their lengths, which the budget would change from run to run.
    benchmark = replace(
        benchmark, fit_blocks=None, experiments=[item.with_blocks(BLOCKS) for item in benchmark.experiments]
    )
    folder = options.output or DEFAULT_PARENT / "gate"
    request = request_of(benchmark, arms, options)
    limits, whole = run_gate.limits_of(options), WholeBudget(request.budget, options.began)
    paths, stopped = run_gate.measured(request, folder, limits, options, whole)
    if stopped:
        raise click.exceptions.Exit(1)
    return paths


def counting(options: GateOptions) -> GateOptions:
    """The options with counts beside memory, where valgrind is here and nothing else was asked for."""
    options = replace(options, auto=False, automatic=False)
    if run_gate.is_typed("instructions"):
        return options
    if absent := callgrind.why_absent():
        note(f"no instructions are counted: {absent}")
        return options
    return replace(options, instructions=CALLGRIND)


def keep(
    path: Path, known: baseline_file.Baseline, results: Sequence[Results], facts: dict[str, object]
) -> None:
    """Raises HeaplabError if a run failed, or if there is nothing to keep."""
    lost = run_gate.lost_runs(results)
    values = analysis.values_to_keep([analysis.Analysis(each) for each in results])
    if lost or not values:
        raise HeaplabError(
            f"gate: {path}: nothing is kept: {lost[0].reason if lost else 'nothing was measured'}"
        )
    baseline_file.write(path, known.with_run(baseline_file.run_of(values, facts)))
    measures = dict.fromkeys(measure for *_, measure in values)
    click.echo(f"{path}: kept {', '.join(measures)}")
