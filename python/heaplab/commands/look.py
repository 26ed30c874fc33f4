"""`heaplab look`: where the memory of a running process lies, and what its allocator says of it."""

import click

from heaplab.options.option_types import DURATION


@click.command()
@click.argument("process", metavar="PID")
@click.option("--for", "seconds", type=DURATION, default="2s", help="How long growth is looked at.")
@click.option(
    "--ask",
    is_flag=True,
    help="Ask the allocator too: a thread of the process that holds no lock is stopped for some milliseconds "
    "and calls what the allocator exports for that, such as malloc_info.",
)
@click.option(
    "--trim",
    is_flag=True,
    help="With --ask: have the allocator give back what it can (malloc_trim), and show what came back. On a "
    "terminal you are asked first, since threads that allocate wait meanwhile.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, the verdict first.")
def look(process: str, seconds: float, ask: bool, trim: bool, as_json: bool) -> None:
    """Tell where the memory of a running process lies, which malloc serves it, and what grows.

    Nothing is loaded into the process. Without --ask it is not stopped either. Processes of other users need
    CAP_SYS_PTRACE, such as root has.

    \b
    Examples:
      heaplab look $$
      heaplab look --for 1s --json $$
      sleep 9 & heaplab look --ask $!
    """
    from heaplab.running import run_look

    run_look.look(process, seconds, ask, trim, as_json)
