"""The part of a campaign that an atlas keeps: the ratio of every allocator in every experiment and aspect."""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from heaplab import stats
from heaplab.analysis import Analysis, Study, aspect_summaries, metric_of
from heaplab.report.page.hosts import MACHINE
from heaplab.report.words import facts
from heaplab.report.words.next_steps import repeating
from heaplab.results import store
from heaplab.results.records import CONTROL_SUFFIX, Arm
from heaplab.stats import Interval, Judged

MEASURES = ("time", "memory")
# Facts that may change on one machine and that times depend on.
CHANGES_TIMES = ("kernel", "c_library", "transparent_huge_pages", "governor")


@dataclass(frozen=True)
class AtlasRatio:
    """One allocator relative to the baseline, over the cells of an experiment or of an aspect."""

    about: str  # id of the experiment, or title of the aspect
    measure: str  # one of MEASURES
    allocator: str
    judged: Judged
    settings: str = ""  # hash of the cells and the system; "" for an aspect, whose experiments change


@dataclass(frozen=True)
class AtlasExperiment:
    id: str
    title: str
    workload: str
    workload_title: str
    card: tuple[tuple[str, str], ...]
    aspect: str
    again: str  # the command that repeats it


@dataclass(frozen=True)
class AtlasCampaign:
    id: str
    started: str  # ISO 8601, UTC
    scale: str
    heaplab: str
    command: str
    file: str
    runs: int
    machine: str  # the facts of the machine that stay the same, as its name
    facts: tuple[tuple[str, str], ...]
    baseline: str
    versions: dict[str, str]  # by allocator, also of the baseline; the build if there is no version
    builds: dict[str, str]  # by allocator: hash of its library, or the version without a library
    experiments: dict[str, AtlasExperiment]
    aspects: list[AtlasRatio]
    ratios: list[AtlasRatio]

    @property
    def date(self) -> str:
        return self.started[:10]


def read(path: Path) -> AtlasCampaign:
    """Raises UsageError for a file that is no results file."""
    return campaign_of(Analysis(store.load(path, series=False)))


def campaign_of(analysis: Analysis) -> AtlasCampaign:
    results, campaign = analysis.results, analysis.campaign
    known = results.facts
    arms = {name: arm for name, arm in results.libraries.items() if name in analysis.allocators}
    studies = {study.experiment.id: study for study in analysis.between_allocators}
    return AtlasCampaign(
        id=campaign.id,
        started=campaign.started,
        scale=campaign.scale,
        heaplab=campaign.heaplab,
        command=shlex.join(campaign.command),
        file=results.path.name,
        runs=len(results.runs),
        machine=facts.in_short({name: known.get(name) for name in MACHINE}),
        facts=tuple(facts.in_words(known)),
        baseline=analysis.baseline,
        versions={name: arm.version or build_of(arm)[:8] for name, arm in arms.items()},
        builds={name: build_of(arm) for name, arm in arms.items()},
        experiments={name: experiment_of(analysis, study) for name, study in studies.items()},
        aspects=[
            AtlasRatio(summary.about.title, summary.about.measure, name, judged)
            for summary in aspect_summaries(analysis)
            for name, judged in summary.judged.items()
        ],
        ratios=list(ratios_of(analysis, known)),
    )


def build_of(arm: Arm) -> str:
    """A hash that tells builds apart: of the library's bytes and the settings."""
    return digest([*arm.sha256.values(), arm.version, sorted(arm.environment.items()), arm.huge_pages])


def digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def experiment_of(analysis: Analysis, study: Study) -> AtlasExperiment:
    experiment, card, aspect = study.experiment, study.workload.card, study.experiment.aspect
    return AtlasExperiment(
        id=experiment.id,
        title=experiment.title,
        workload=study.workload.id,
        workload_title=study.workload.title,
        card=(("source", card.source), ("shows", card.shows), ("does not show", card.does_not_show)),
        aspect=aspect if isinstance(aspect, str) else aspect.title,
        again=shlex.join(repeating(analysis, study)),
    )


def ratios_of(analysis: Analysis, known: Mapping[str, Any]) -> Iterator[AtlasRatio]:
    """The verdicts on one measure are one family of comparisons."""
    for measure in MEASURES:
        studies = [(study, metric_of(study, measure)) for study in analysis.between_allocators]
        groups = [[*of_study(study, metric)] for study, metric in studies if metric]
        ratios = list(chain.from_iterable(groups))
        judged = stats.judge_family(
            [ratio for *_, ratio, _ in ratios], [judgement for *_, judgement in ratios]
        )
        for (study, name, _, _), each in zip(ratios, judged, strict=True):
            settings = settings_of(analysis, study, known)
            yield AtlasRatio(study.experiment.id, measure, name, each, settings)


def of_study(study: Study, metric: str) -> Iterator[tuple[Study, str, Interval, Interval]]:
    """The mean ratio of each allocator over all cells, with the control; none if a cell has no figure."""
    cells = sum(bool(study.values(cell, study.baseline, metric)) for cell in study.cells)
    for name in study.candidates:
        pairs = study.cell_pairs(study.baseline, name, metric)
        if name != study.baseline and cells and len(pairs) == cells:
            ratio = stats.geometric_mean([pairs])
            control = stats.geometric_mean(
                [study.cell_pairs(study.baseline, study.baseline + CONTROL_SUFFIX, metric)]
            )
            if not isnan(ratio.estimate):
                yield study, name, ratio, control


def settings_of(analysis: Analysis, study: Study, known: Mapping[str, Any]) -> str:
    """Ratios with equal settings may be compared over time: same cells, same baseline, same system."""
    scale = analysis.campaign.scale
    experiment = study.experiment.model_dump(
        mode="json", include={"workload", "parameters", "derived", "presets", scale}
    )
    baseline = analysis.results.libraries.get(analysis.baseline)
    return digest(
        [
            experiment,
            scale,
            build_of(baseline) if baseline else analysis.baseline,
            [known.get(name) for name in (*MACHINE, *CHANGES_TIMES)],
        ]
    )
