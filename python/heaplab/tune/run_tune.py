"""What `heaplab tune` does: it tries settings of an allocator, and measures the best of them afresh."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import click

from heaplab import analysis
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.comparison.benchmark import benchmark_of, request_of, with_note
from heaplab.comparison.shown_results import tell
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError, UsageError
from heaplab.options import chosen_arms
from heaplab.options.given_options import HowOptions, Subject
from heaplab.options.program_command import TYPED
from heaplab.report.terminal.tuned import Tuned, plain_tuned
from heaplab.results.records import Arm
from heaplab.screen.notes import note
from heaplab.tune.tuning_arms import Trial, combinations, trials_of
from heaplab.tune.tuning_rounds import (
    COMBINING,
    CONFIRMING,
    SCREENING,
    Tuner,
    TuningRound,
    is_complete,
    without_any_figure,
)

TIMES_A_COMPARISON = 2  # the default budget: a confirmation has half of it


@dataclass
class TuningChoice:
    """Chooses the settings that are worth a confirmation, in two rounds. Their figures are not results."""

    catalog: Catalog
    baseline: Arm
    trials: list[Trial]
    tuner: Tuner
    void: dict[str, str] = field(default_factory=dict)  # why a trial gave no figure

    def chosen(self) -> list[Trial] | None:
        """The trials worth a confirmation, the most promising first; None if a round is interrupted.

        The second round has at most as many arms as the first, so that the same part of the budget suffices.
        """
        first = self._measured(SCREENING, self.trials)
        if first is None:
            return None
        together = combinations(analysis.improvements(first), self.trials)
        if not together:
            return among(self.trials, analysis.promising(first, len(analysis.rankings(first))))
        room = len(first.allocators) - 1 - len(together)
        finalists = [*together, *among(self.trials, analysis.promising(first, max(room, 1)))]
        second = self._measured(COMBINING, finalists)
        if second is None:
            return None
        return among(finalists, analysis.promising(second, len(analysis.rankings(second))))

    def _measured(self, stage: TuningRound, trials: Sequence[Trial]) -> analysis.Analysis | None:
        """Measure the baseline and the trials that are not void; None if the round is interrupted."""
        arms = self.arms_of(trials)
        if not arms:
            reasons = "; ".join(dict.fromkeys(self.void.values()))
            name = self.baseline.allocator
            raise HeaplabError(f"tune: no setting of {name} is in effect here: {reasons}")
        measured = self.tuner.measured(stage, [self.baseline, *arms])
        self.void |= without_any_figure(measured) if measured else {}
        return measured

    def arms_of(self, trials: Sequence[Trial]) -> list[Arm]:
        """The arms of the trials that are not void. A note names a void arm the first time."""
        arms = arms_with(self.catalog, self.baseline.allocator, trials)
        for arm in arms:
            if arm.void and arm.allocator not in self.void:
                note(f"{arm.allocator} is void: {arm.void}")
                self.void[arm.allocator] = arm.void
        return [arm for arm in arms if not arm.void]

    @property
    def tuned(self) -> Tuned:
        tried = {trial.name: " ".join(trial.words) for trial in self.trials}
        return Tuned(self.baseline.allocator, tried, self.void)


def arms_with(catalog: Catalog, name: str, trials: Sequence[Trial]) -> list[Arm]:
    """The arms of an allocator with the settings of the trials."""
    given = [trial.given(name) for trial in trials]
    tried = chosen_arms.with_own(catalog, given)
    return [chosen_arms.arm_of(tried, arm.name) for arm in given]


def among(trials: Sequence[Trial], names: Sequence[str]) -> list[Trial]:
    by_name = {trial.name: trial for trial in trials}
    return [by_name[name] for name in names]


def tune(context: click.Context, name: str, subject: Subject, options: HowOptions) -> int:
    """Choose settings, confirm them, print the result; return the exit status."""
    if not subject.program:
        raise UsageError("tune: give a program: heaplab tune NAME -- PROGRAM ARGS")
    if subject.source and subject.serving:
        raise UsageError("--input: a server reads no standard input; --load drives it")
    catalog = catalogs.load(context.obj)
    trials = trials_of(catalog, name)
    baseline = chosen_arms.arm_of(catalog, name)
    arms = [baseline, *arms_with(catalog, name, trials)]
    benchmark = benchmark_of(catalog, arms, subject, options.quiet)
    if options.budget is not None:
        benchmark = benchmark.with_most_blocks()
    folder = options.output or benchmark.folder / "tune"
    assert benchmark.budget
    request = request_of(replace(benchmark, budget=TIMES_A_COMPARISON * benchmark.budget), [], options)
    whole = WholeBudget.with_report(request.budget, options.began)
    tuner = Tuner(request, folder, options, whole, afresh=is_complete(folder))
    choice = TuningChoice(catalog, baseline, trials, tuner)
    chosen = choice.chosen()
    if chosen is None:
        return 1
    if chosen:
        return confirm(choice, chosen, comparison(context, name, chosen, subject.program), options)
    if options.as_json:
        click.echo(json.dumps({"tune": plain_tuned(choice.tuned, None)}))
    else:
        click.echo(
            f"Stay with {name} as it is: none of its {len(trials)} settings came out better by time "
            "or by memory, so there was nothing to confirm."
        )
    return 0


def confirm(choice: TuningChoice, chosen: Sequence[Trial], command: list[str], options: HowOptions) -> int:
    """Measure the chosen settings afresh as an ordinary comparison, and print the result."""
    tuned, tuner = choice.tuned, choice.tuner
    tuner = replace(tuner, request=with_note(replace(tuner.request, command=command), tuned.note))
    measured = tuner.measured(CONFIRMING, [choice.baseline, *choice.arms_of(chosen)])
    place = tuner.folder / CONFIRMING.name
    return tell(place, quiet=options.quiet, as_json=options.as_json, tuned=tuned, stopped=measured is None)


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
