"""`heaplab show`: what the catalog has, and what is known of one thing in it."""

from pathlib import Path

import click


@click.command()
@click.argument("name", metavar="allocators|workloads|experiments|suites|claims|NAME")
@click.option("--json", "as_json", is_flag=True, help="Print everything the catalog holds, as JSON.")
@click.pass_obj
def show(extra: tuple[Path, ...], name: str, as_json: bool) -> None:
    """List what the catalog has, or show what is known of one thing in it.

    A workload's card says what its figures show, what they do not, and where its defaults come from.

    \b
    Examples:
      heaplab show allocators
      heaplab show larson
      heaplab show acdc-ismm13/fig10
    """
    from heaplab.inventory import run_show

    run_show.show(extra, name, as_json=as_json)
