"""What `heaplab show` does: it lists a kind of thing, or tells what the catalog holds of one thing."""

import json
from pathlib import Path

import click

from heaplab.catalog import contents as catalogs
from heaplab.errors import UsageError
from heaplab.inventory.kinds import KINDS, columns_of
from heaplab.screen.console import console, put_table


def show(extra: tuple[Path, ...], asked: str, *, as_json: bool) -> None:
    """Print the rows of a kind, or all that there is with a name. Raises UsageError for an unknown name."""
    catalog = catalogs.load(extra)
    if asked in KINDS:
        rows = KINDS[asked](catalog)
        if as_json:
            click.echo(json.dumps(rows, indent=2))
        else:
            put_table(console(), columns_of(rows))
        return
    # Here because workloads and experiments take time to import, and a list of allocators needs none.
    from heaplab.inventory import shown_things

    things = list(shown_things.things(catalog, asked))
    if not things:
        raise UsageError(f"show: the catalog has no {asked!r}; `heaplab show KIND` lists {', '.join(KINDS)}")
    if as_json:
        click.echo(json.dumps(shown_things.as_plain(things), indent=2))
    else:
        click.echo(shown_things.as_text(asked, things))
