"""An experiment of a publication, which `heaplab compare --all-publications` makes a campaign of its own."""

from dataclasses import dataclass, replace
from pathlib import Path

from heaplab.analysis import claims
from heaplab.campaign import begin_or_resume as campaigns, memory_needs, plan, trial
from heaplab.campaign.begin_or_resume import OpenedCampaign, Request
from heaplab.campaign.scale_steps import ScaleStep
from heaplab.campaign.trial import Forecast
from heaplab.catalog import locate
from heaplab.catalog.contents import Catalog
from heaplab.comparison.benchmark import Benchmark, request_of
from heaplab.comparison.run_compare import named_by_all
from heaplab.options import chosen_arms
from heaplab.options.given_options import ComparisonOptions
from heaplab.results import spec, store
from heaplab.results.records import Arm
from heaplab.screen.notes import note


@dataclass(frozen=True)
class PlannedExperiment:
    """One experiment at one step of its scale."""

    request: Request
    folder: Path
    step: str  # the title of the step

    @property
    def name(self) -> str:
        return self.request.experiments[0].id

    @property
    def file(self) -> Path:
        return self.folder / store.FILE_NAME

    @property
    def libraries(self) -> dict[str, Arm]:
        return {arm.allocator: arm for arm in self.request.libraries}

    def earlier(self) -> store.Results | None:
        """The results of an earlier call for this step."""
        return campaigns.earlier(self.file, self.request)

    @property
    def is_complete(self) -> bool:
        results = self.earlier()
        return results is not None and results.end is not None and results.end.reason != "budget"

    def at_least(self) -> Forecast:
        """A lower bound of the forecast, without a run."""
        return trial.between_runs(campaigns.campaign_of(self.request))

    def forecast(self, room: float | None = None) -> Forecast:
        """How long the campaign takes; with `room`, perhaps only that it takes more seconds than that."""
        campaign = campaigns.campaign_of(self.request)
        if room is not None and self.at_least().seconds > room:
            return self.at_least()
        if room is None:
            return trial.forecast(campaign, self.libraries, self.needed(), trial.PATIENCE_S)
        return trial.forecast_within(campaign, self.libraries, self.needed(), room)

    def needed(self) -> dict[str, int]:
        """The memory of each cell as the workload estimates it, by key."""
        return memory_needs.estimates(plan.comparisons(campaigns.campaign_of(self.request)))

    def opened(self, budget: float | None, why: str) -> OpenedCampaign:
        """Begin or continue the campaign. The budget is that of this call, whatever was measured before.

        `why` says why the scale of a new campaign is not larger.
        """
        request = replace(self.request, budget=budget, why_scale=why)
        lock = store.ResultsLock(self.folder / store.FILE_NAME)
        try:
            results = self.earlier()  # read again: another process may have measured since
            if results is None:
                return campaigns.begin(self.file, request, lock=lock)
            campaign = results.campaign.model_copy(update={"budget": budget})
            gone_on = campaigns.go_on(results, campaign, self.libraries, lock)
            return replace(gone_on, runs_of_earlier_budgets=len(results.runs))
        except BaseException:
            lock.release()
            raise


def planned_of(
    catalog: Catalog,
    workloads: dict[str, spec.Workload],
    arms: list[Arm],
    step: ScaleStep,
    folder: Path,
    options: ComparisonOptions,
) -> PlannedExperiment:
    """One step of an experiment. Only cells that do not fit in this machine's memory fail."""
    benchmark = Benchmark(experiments=[step.experiment], workloads=workloads, scale=step.scale, folder=folder)
    request = request_of(benchmark, arms, replace(options, budget=None))
    if not request.memory_limit:
        request = replace(request, memory_limit=memory_needs.of_this_machine())
    return PlannedExperiment(request, folder / step.experiment.id, step.title)


def arms_of(catalog: Catalog, experiment: spec.Experiment, options: ComparisonOptions) -> list[Arm]:
    """The arms that the experiment names; else those that the user names; else all found here.

    The third case adds the allocators that the experiment's claims name. With a budget it has these and the
    baseline alone: fewer arms leave time for a larger scale. Raises HeaplabError for a named allocator that
    is not on this machine.
    """
    named = named_by_all([experiment]) or options.allocators
    spoken = [] if named else claims.allocators_of(experiment)
    _, arms = chosen_arms.arms(
        catalog, chosen_arms.BASELINE if spoken and options.budget else named, [], None
    )
    known = {arm.allocator for arm in arms}
    for name in spoken:
        if name not in known:
            try:
                arms.append(chosen_arms.arm_of(catalog, name))
            except locate.NotHereError as error:
                note(f"{experiment.id}: without {error}")
    return arms
