"""What to do next, with the command to type. Follows the answer and the statement how sure it is."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf

from heaplab.analysis import TIME_ONLY, Analysis, Study, power_of
from heaplab.report.words import wording
from heaplab.report.words.advice import Answer
from heaplab.stats import THRESHOLD
from heaplab.text import units

MUCH_DISTURBED = 0.2  # of all runs
MINUTES = 10  # of a budget that is worth another try
DAY_S = 24 * 3600.0  # a longer forecast is not worth waiting for


@dataclass(frozen=True)
class Step:
    """One thing to do; `command` is empty if there is nothing to type."""

    says: str
    command: str = ""


def next_steps(analysis: Analysis, kind: str, answered: Answer) -> list[Step]:
    """Use the winner or ask about one's own program; decide open comparisons; remove noise."""
    own = users_program(analysis, kind)
    first = next(kind for kind in wording.KINDS if analysis.summarised(kind))
    if analysis.compared == "command":
        steps = _command(analysis, answered)
    else:
        steps = _own_program(analysis, answered, own) if own else [ASK] * (kind == first)
    if answered.open:
        about = f"about {wording.listed(answered.open)}"
        steps += [_longer(analysis, about)] if _may_go_on(analysis) else _anew(analysis, about)
    return steps + _quieter(analysis, kind)


def steps_of_choice(analysis: Analysis, local: bool) -> list[Step]:
    """The steps after a comparison within programs. `local`: a local allocator is faster somewhere."""
    steps = [USE_LOCAL] if local else []
    return steps + ([_longer(analysis, "about what is open")] if _may_go_on(analysis) else [])


def _longer(analysis: Analysis, about: str) -> Step:
    """What decides about the open comparisons, by the forecast of `heaplab report --form power`."""
    folder, arms = str(analysis.results.path.parent), arms_given(analysis.campaign.command)
    needed = power_of(analysis).seconds_left
    if needed >= DAY_S:
        return Step(
            f"A day more on this machine would not decide {about}, by the forecast of:",
            shlex.join(["heaplab", "report", folder, "--form", "power"]),
        )
    budget, how_long = f"{MINUTES}m", "longer"
    if needed > 60 * MINUTES:
        hours = ceil(needed / 3600)
        budget, how_long = f"{hours}h", f"longer, by the forecast about {units.counted(hours, 'hour')}"
    command = ["heaplab", "compare", "--resume", folder, *arms, "--budget", budget]
    return Step(f"To decide {about}, measure {how_long}:", shlex.join(command))


def _anew(analysis: Analysis, about: str) -> list[Step]:
    """What decides where the intervals are as narrow as was asked: half of their width."""
    campaign, end = analysis.campaign, analysis.results.end
    if end is None or end.reason != "precise" or campaign.command[1:2] != ["compare"]:
        return []
    asked, finer = (f"{100 * share:g}%" for share in (campaign.precision, campaign.precision / 2))
    command = with_option(campaign.command, "--precision", finer)
    return [Step(f"To decide {about}, measure to {finer} instead of {asked}:", shlex.join(command))]


def with_option(command: Sequence[str], option: str, value: str) -> list[str]:
    """A command of heaplab with this value of an option; what follows "--" is the program's."""
    end = command.index("--") if "--" in command else len(command)
    heaplab, name, *words = command[:end]
    others = [word for before, word in pairwise([name, *words]) if option not in (before, word.split("=")[0])]
    return [heaplab, name, option, value, *others, *command[end:]]


def arms_given(command: Sequence[str]) -> list[str]:
    """The options of a command that name the user's own arms: resuming needs them again."""
    words = list(command[: command.index("--")] if "--" in command else command)
    return [
        word
        for place, word in enumerate(words)
        if word.split("=")[0] in ARM_OPTIONS or (place and words[place - 1] in ARM_OPTIONS)
    ]


ARM_OPTIONS = ("--allocator", "--factorial")
# Options that define arms; without their values in the command, the arms' names mean nothing.
NAMES_ARMS = {*ARM_OPTIONS, "--arm"}
USE_LOCAL = Step("Use one: <heaplab/local/local.h>; docs/local-allocators.md has an example of each.")


ASK = Step("Ask about your own program:", "heaplab compare -- PROGRAM ARGS")


def users_program(analysis: Analysis, kind: str) -> list[str]:
    """The command of the user's program, if the campaign is about one; else empty."""
    studies = analysis.summarised(kind) if kind == "program" else []
    own = [study.workload for study in studies if study.workload.is_users]
    return [own[0].program, *own[0].arguments] if own else []


def _own_program(analysis: Analysis, answered: Answer, program: list[str]) -> list[Step]:
    if not answered.use:
        return []
    pick = answered.use[0]
    if pick == analysis.baseline:
        return [] if answered.open else [Step(f"Nothing: the program may stay with {pick}.")]
    return [Step(f"Start the program under {pick}:", start_command(analysis, pick, program))]


def start_command(analysis: Analysis, pick: str, program: Sequence[str] = ("PROGRAM",)) -> str:
    """What starts a program under an arm, with the option of a library of the user's."""
    given = [word.removeprefix("--allocator=") for word in analysis.campaign.command]
    own = [word for word in given if word.startswith(f"{pick}=")]
    return shlex.join(["heaplab", "with", *(["--allocator", own[0]] if own else []), pick, "--", *program])


def repeating(analysis: Analysis, study: Study) -> list[str]:
    """The command that repeats an experiment alone; the campaign's own command if that defines arms."""
    command = analysis.campaign.command
    of_catalog = command[1:2] == ["compare"] and not {*command} & NAMES_ARMS
    if study.workload.is_users or not of_catalog:
        return command
    names = ",".join(analysis.allocators)
    scale = analysis.campaign.scale
    named = ["--experiment", study.experiment.id, "--scale", scale, "--allocators", names]
    return ["heaplab", "compare", *named]


def _command(analysis: Analysis, answered: Answer) -> list[Step]:
    if not answered.use or answered.use[0] == analysis.baseline:
        return []
    return [Step(f"Take {answered.use[0]}:", shlex.join(analysis.results.libraries[answered.use[0]].command))]


def _may_go_on(analysis: Analysis) -> bool:
    return analysis.results.end is None or analysis.results.end.reason == "budget"


def _quieter(analysis: Analysis, kind: str) -> list[Step]:
    threshold, runs = analysis.threshold(kind, TIME_ONLY), sum(analysis.counts().values())
    reasons = []
    if THRESHOLD < threshold < inf:
        reasons.append(f"{analysis.baseline} differs from itself by {wording.threshold(threshold)}")
    if len(analysis.repeated) > MUCH_DISTURBED * runs:
        reasons.append(f"{len(analysis.repeated)} of {runs} runs were disturbed by other work")
    return [Step(f"Measure on a quieter machine: {wording.listed(reasons)}.")] if reasons else []
