"""What `heaplab get` does: it obtains allocators into the user's cache."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from heaplab.catalog import contents as catalogs, newest as releases, obtain as getter
from heaplab.catalog.contents import Catalog
from heaplab.errors import HeaplabError
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay


def get(extra: tuple[Path, ...], names: Sequence[str]) -> int:
    """Obtain the named allocators, or else all; return 1 if a named one cannot be had."""
    catalog = catalogs.load(extra)
    wanted = named(catalog, names)
    say_what_takes_minutes(catalog, wanted)
    failed = printed(wanted, lambda name: [obtained(catalog, name)])
    return 1 if failed and names else 0


def newest(extra: tuple[Path, ...], names: Sequence[str]) -> int:
    """Say which packages have releases that are not pinned; return 1 if a registry does not answer."""
    catalog = catalogs.load(extra)

    def news(name: str) -> list[str]:
        with StepDisplay(name) as steps:
            return releases.news(catalog.allocator(name)[0], steps.tell)

    return 1 if printed(named(catalog, names), news) else 0


def named(catalog: Catalog, names: Sequence[str]) -> Sequence[str]:
    """The names, or else all. Raises UsageError for a name that the catalog has not."""
    for name in names:
        catalog.allocator(name)
    return names or tuple(catalog.allocators)


def printed(names: Sequence[str], lines_of: Callable[[str], Sequence[str]]) -> int:
    """Print the lines about each allocator, or why there are none; return how many have none for a reason."""
    failed = 0
    for name in names:
        try:
            for line in lines_of(name):
                click.echo(line)
        except HeaplabError as error:
            failed += 1
            click.echo(f"{name}: skipped, {error}")
    return failed


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
    where = next(iter(library.sha256), "the C library")
    return f"{name} {library.version}".rstrip() + f": {already}{where}"
