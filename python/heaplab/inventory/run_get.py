"""What `heaplab get` does: it obtains allocators into the user's cache."""

from collections.abc import Sequence
from pathlib import Path

import click

from heaplab.catalog import contents as catalogs, obtain as getter
from heaplab.catalog.contents import Catalog
from heaplab.errors import HeaplabError
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay


def get(extra: tuple[Path, ...], names: Sequence[str]) -> int:
    """Obtain the named allocators, or else all; return 1 if a named one cannot be had."""
    catalog = catalogs.load(extra)
    for name in names:
        catalog.allocator(name)
    wanted = names or tuple(catalog.allocators)
    say_what_takes_minutes(catalog, wanted)
    failed = 0
    for name in wanted:
        try:
            click.echo(obtained(catalog, name))
        except HeaplabError as error:
            failed += 1
            click.echo(f"{name}: skipped, {error}")
    return 1 if failed and names else 0


def say_what_takes_minutes(catalog: Catalog, names: Sequence[str]) -> None:
    slow = [
        name for name in names if getter.is_built(catalog.allocator(name)[0]) and is_absent(catalog, name)
    ]
    if slow:
        note(f"built from source, each {getter.BUILD_TIME}: {', '.join(slow)}")


def is_absent(catalog: Catalog, name: str) -> bool:
    try:
        return getter.here(catalog, name) is None
    except HeaplabError:
        return False  # `get` reports the error when it comes to this allocator


def obtained(catalog: Catalog, name: str) -> str:
    """Obtain the allocator unless it is here; one line about it. Raises HeaplabError if that fails."""
    already, library = "already here, ", getter.here(catalog, name)
    if library is None:
        with StepDisplay(name) as steps:
            already, library = "", getter.get(catalog, name, steps.tell)
    where = library.preload[0] if library.preload else "the C library"
    return f"{name} {library.version}".rstrip() + f": {already}{where}"
