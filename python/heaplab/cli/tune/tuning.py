"""What `heaplab tune` does: it tries settings of an allocator, and measures the best of them afresh."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from heaplab.campaign.begin_or_resume import Request
from heaplab.catalog import contents as catalogs
from heaplab.cli.benchmarks import selection
from heaplab.cli.benchmarks.benchmark import Benchmark, benchmark_of, request_of, with_note
from heaplab.cli.options.given_options import HowOptions
from heaplab.cli.options.program_command import TYPED
from heaplab.cli.reading.results import tell
from heaplab.cli.tune.tuning_arms import Trial, trials_of
from heaplab.cli.tune.tuning_choice import TuningChoice
from heaplab.cli.tune.tuning_rounds import CONFIRMING, Tuner, is_complete
from heaplab.errors import UsageError
from heaplab.report.terminal.tuned import plain_tuned

TIMES_A_COMPARISON = 2  # the default budget: a confirmation has half of it


def tune(
    context: click.Context,
    name: str,
    program: tuple[str, ...],
    source: Path | None,
    serving: Mapping[str, Any],
    options: HowOptions,
) -> int:
    """Choose settings, confirm them, print the result; return the exit status."""
    if not program:
        raise UsageError("tune: give a program: heaplab tune NAME -- PROGRAM ARGS")
    if source and serving:
        raise UsageError("--input: a server reads no standard input; --load drives it")
    catalog = catalogs.load(context.obj)
    trials = trials_of(catalog, name)
    baseline = selection.arm_of(catalog, name)
    benchmark = benchmark_of(catalog, [baseline], program, None, source, options.quiet, serving)
    folder = options.output or benchmark.folder / "tune"
    tuner = Tuner(requested(benchmark, options), folder, options, afresh=is_complete(folder))
    choice = TuningChoice(catalog, baseline, trials, tuner)
    chosen = choice.chosen()
    if chosen is None:
        return 1
    if not chosen:
        return tell_of_none(choice, options)
    return confirm(choice, chosen, comparison(context, name, chosen, program), options)


def requested(benchmark: Benchmark, options: HowOptions) -> Request:
    """The request of a confirmation, still without arms."""
    assert benchmark.budget
    return request_of(replace(benchmark, budget=TIMES_A_COMPARISON * benchmark.budget), [], options)


def tell_of_none(choice: TuningChoice, options: HowOptions) -> int:
    name = choice.baseline.allocator
    if options.as_json:
        click.echo(json.dumps({"tune": plain_tuned(choice.tuned, None)}))
    else:
        click.echo(
            f"Stay with {name} as it is: none of its {len(choice.trials)} settings came out better by time "
            "or by memory, so there was nothing to confirm."
        )
    return 0


def confirm(choice: TuningChoice, chosen: Sequence[Trial], command: list[str], options: HowOptions) -> int:
    """Measure the chosen settings afresh as an ordinary comparison, and print the result."""
    tuned, tuner = choice.tuned, choice.tuner
    tuner = replace(tuner, request=with_note(replace(tuner.request, command=command), tuned.note))
    measured = tuner.measured(CONFIRMING, [choice.baseline, *choice.arms_of(chosen)])
    place = tuner.folder / CONFIRMING.name
    status = tell(place, quiet=options.quiet, as_json=options.as_json, tuned=tuned)
    return status if measured else 1


def comparison(
    context: click.Context, name: str, chosen: Sequence[Trial], program: Sequence[str]
) -> list[str]:
    """The command of a confirmation as a comparison, so that the user can resume or repeat it."""
    words = ["heaplab", "compare", "--allocators", name]
    for given in (trial.given(name) for trial in chosen):
        words += ["--allocator", f"{given.name}={given.title}"]
    typed = context.meta[TYPED]
    for option in context.command.params:
        if isinstance(option, click.Option) and option.name in typed and option.name != "output":
            values = typed[option.name] if option.multiple else [typed[option.name]]
            for value in values:
                words += option.opts[-1:] if option.is_flag else [option.opts[-1], value]
    return [*words, "--", *program]
