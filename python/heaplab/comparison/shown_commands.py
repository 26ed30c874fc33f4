"""The command of each cell under each arm, for use behind gdb --args, perf record or valgrind."""

import shlex
from collections.abc import Iterator

from heaplab.campaign import begin_or_resume as campaigns, plan
from heaplab.campaign.begin_or_resume import Request
from heaplab.campaign.command_line import program_of, words_of
from heaplab.campaign.measure_run import environment_of
from heaplab.campaign.plan import Cell
from heaplab.machine.execute import plain_environment
from heaplab.results.records import CONTROL_SUFFIX, Arm


def shown_commands(request: Request) -> Iterator[str]:
    """One line for each cell and arm, below a comment that names both. `env` sets the arm's variables."""
    campaign = campaigns.campaign_of(request)
    arms = {arm.allocator: arm for arm in request.libraries}
    for comparison in plan.comparisons(campaign):
        for cell in comparison.cells:
            for name in cell.allocators:
                if not name.endswith(CONTROL_SUFFIX):
                    yield from lines_of(cell, arms[name], campaign.seed)


def lines_of(cell: Cell, arm: Arm, seed: int) -> Iterator[str]:
    swept = " ".join(f"{name}={value}" for name, value in cell.swept)
    yield f"# {' '.join(filter(None, (cell.experiment.id, swept)))} under {arm.allocator}"
    if arm.void:
        yield f"# void: {arm.void}"
        return
    if cell.workload.fixture:
        yield "# heaplab runs it in a folder with prepared input"
    if arm.huge_pages:
        yield f"# heaplab sets thp={arm.huge_pages} by prctl, which no command line can"
    harness = ["--seed", str(seed)] if cell.workload.kind == "synthetic" else []
    words = [str(program_of(cell, arm)), *words_of(cell, arm), *harness]
    yield shlex.join([*settings_of_arm(cell, arm), *words])


def settings_of_arm(cell: Cell, arm: Arm) -> list[str]:
    """An `env` command with the variables that differ from the user's environment; empty without any."""
    plain = plain_environment()
    own = {name: value for name, value in environment_of(cell, arm).items() if plain.get(name) != value}
    return ["env", *(f"{name}={value}" for name, value in own.items())] if own else []
