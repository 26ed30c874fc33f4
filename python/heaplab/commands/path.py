"""`heaplab path`: where a file lies."""

from pathlib import Path

import click

from heaplab.errors import UsageError
from heaplab.machine import native
from heaplab.machine.preload_paths import loadable


@click.command()
@click.argument("name")
@click.pass_obj
def path(extra: tuple[Path, ...], name: str) -> None:
    """Print where a program, library or allocator lies.

    \b
    Example:
      LD_PRELOAD=$(heaplab path jemalloc) ls
    """
    if file := native.named(name):
        click.echo(loadable(str(file)) if file.suffix == ".so" else file)
        return
    # Here because it imports pydantic, which heaplab's own files do not need.
    from heaplab.catalog import contents as catalogs, locate

    catalog = catalogs.load(extra)
    if name not in catalog.allocators and name not in catalog.allocator_names():  # which reads all files
        raise UsageError(f"path: no program, library or allocator {name!r}")
    library = locate.found_here(catalog, name).path
    if library is None:
        raise UsageError(f"path: {name} is the C library's own malloc, there is nothing to preload")
    click.echo(loadable(str(library.resolve())))
