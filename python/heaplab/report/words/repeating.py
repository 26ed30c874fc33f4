"""The command that repeats a part of a campaign."""

from heaplab.analysis import Analysis, Study

# Options that define arms; without their values in the command, the arms' names mean nothing.
NAMES_ARMS = {"--allocator", "--arm", "--factorial"}


def repeating(analysis: Analysis, study: Study) -> list[str]:
    """The command that repeats an experiment alone; the campaign's own command if that defines arms."""
    command = analysis.campaign.command
    of_catalog = command[1:2] in (["compare"], ["run"]) and not {*command} & NAMES_ARMS
    if study.workload.is_users or not of_catalog:
        return command
    names = ",".join(analysis.allocators)
    scale = analysis.campaign.scale
    return ["heaplab", "run", study.experiment.id, "--scale", scale, "--allocators", names]
