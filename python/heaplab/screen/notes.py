"""Lines for the user beside the results, on standard error."""

import contextlib

import click


def note(message: str) -> None:
    """Print one line that is no error. A failed write is ignored."""
    with contextlib.suppress(OSError):
        click.echo(f"heaplab: {message}", err=True)
