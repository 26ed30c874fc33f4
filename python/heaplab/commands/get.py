"""`heaplab get`: allocators into the user's cache."""

from pathlib import Path

import click

from heaplab.errors import UsageError


@click.command()
@click.argument("names", nargs=-1, metavar="ALLOCATOR...")
@click.option("--all", "everything", is_flag=True, help="Every allocator of the catalog.")
@click.option("--newest", is_flag=True, help="Say which packages have releases that are not pinned.")
@click.pass_obj
def get(extra: tuple[Path, ...], names: tuple[str, ...], everything: bool, newest: bool) -> int:
    """Obtain allocators that are not on this machine, without root.

    Packages are downloaded by apt-get, pip or cargo, and built where they come as sources. The catalog pins
    the SHA-256 of what was tested: another file of the same version is refused. With --all, what cannot be
    had is left out. --newest obtains nothing.

    \b
    Examples:
      heaplab get mimalloc3 rpmalloc
      heaplab get --all
      heaplab get --newest
    """
    if names and everything:
        raise UsageError(f"get: --all contradicts {names[0]}; give one of the two")
    if not (names or everything or newest):
        raise UsageError("get: name allocators, or give --all")
    from heaplab.inventory import run_get

    return run_get.newest(extra, names) if newest else run_get.get(extra, names)
