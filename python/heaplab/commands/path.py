"""`heaplab path`: where a file lies."""

from pathlib import Path

import click


@click.command()
@click.argument("name")
@click.pass_obj
def path(extra: tuple[Path, ...], name: str) -> None:
    """Print where a program, library or allocator lies.

    \b
    Example:
      LD_PRELOAD=$(heaplab path jemalloc) ls
    """
    from heaplab.inventory import run_path

    click.echo(run_path.path_of(extra, name))
