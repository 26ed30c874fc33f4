"""`heaplab doctor`: what this machine is, and what on it makes figures doubtful."""

from pathlib import Path

import click


@click.command()
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_obj
def doctor(extra: tuple[Path, ...], program: tuple[str, ...], as_json: bool) -> None:
    """Tell what this machine is, and what on it makes figures doubtful.

    With PROGRAM, run it once for up to 30 s, without input and output, and tell whether it opens libraries
    that no preloaded malloc can serve (RTLD_DEEPBIND).

    \b
    Examples:
      heaplab doctor
      heaplab doctor -- ls -l
    """
    from heaplab.inventory import run_doctor

    run_doctor.doctor(extra, program, as_json=as_json)
