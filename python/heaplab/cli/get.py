"""`heaplab get`: allocators into the user's cache."""

from pathlib import Path

import click

from heaplab.catalog import contents as catalogs
from heaplab.catalog import obtain as getter
from heaplab.errors import HeaplabError, UsageError


@click.command()
@click.argument("names", nargs=-1, metavar="ALLOCATOR...")
@click.option("--all", "everything", is_flag=True, help="Every allocator of the catalog.")
@click.pass_obj
def get(extra: tuple[Path, ...], names: tuple[str, ...], everything: bool) -> int:
    """Obtain allocators that are not on this machine, without root.

    Packages are downloaded by apt-get, pip or cargo, and built where they come as sources. With --all,
    what cannot be had is left out.

    \b
    Examples:
      heaplab get mimalloc3 rpmalloc
      heaplab get --all
    """
    if bool(names) == everything:
        raise UsageError("get: name allocators, or give --all")
    catalog = catalogs.load(extra)
    for name in names:
        catalog.allocator(name)
    failed = 0
    for name in names or catalog.allocators:
        try:
            library = getter.get(catalog, name)
            where = library.preload[0] if library.preload else "the C library"
            click.echo(f"{name} {library.version}".rstrip() + f": {where}")
        except HeaplabError as error:
            failed += 1
            click.echo(f"{name}: skipped, {error}")
    return 1 if failed and not everything else 0
