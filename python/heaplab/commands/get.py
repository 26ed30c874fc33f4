"""`heaplab get`: allocators into the user's cache."""

from pathlib import Path

import click

from heaplab.errors import UsageError


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
    if names and everything:
        raise UsageError(f"get: --all contradicts {names[0]}; give one of the two")
    if not names and not everything:
        raise UsageError("get: name allocators, or give --all")
    from heaplab.inventory import run_get

    return run_get.get(extra, names)
