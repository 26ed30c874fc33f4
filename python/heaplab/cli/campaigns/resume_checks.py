"""Options that --resume excludes."""

import click
from click.core import ParameterSource

from heaplab.cli.options.given_options import ComparisonOptions
from heaplab.errors import UsageError
from heaplab.records import Campaign


def refuse_more_work(given: object) -> None:
    if given:
        raise UsageError("--resume goes on with what it finds; give no program, input, suite or experiment")


def refuse_changes(campaign: Campaign, options: ComparisonOptions) -> None:
    """Raise UsageError for an option with another value than at the beginning of the campaign."""
    begun = {
        "allocators": ",".join(campaign.allocators),
        "output": None,
        "precision": campaign.precision,
        "seed": campaign.seed,
        "pin": campaign.pinned,
        "warm": campaign.warm,
        "memory_limit": campaign.memory_limit,
        "time_limit": campaign.time_limit,
    }
    given = click.get_current_context().get_parameter_source
    for name, value in begun.items():
        if given(name) is ParameterSource.COMMANDLINE and getattr(options, name) != value:
            raise UsageError(
                f"--resume goes on as it was begun; --{name.replace('_', '-')} cannot change that"
            )
