"""`heaplab cluster`: one experiment on many machines. Each of its commands is a file beside this one."""

import click

from heaplab.commands.cluster_engines import cancel, fetch, status
from heaplab.commands.cluster_merge import merge
from heaplab.commands.cluster_plan import plan
from heaplab.commands.cluster_run import run
from heaplab.commands.cluster_submit import submit


class InOrder(click.Group):
    """Its help has the commands in the order of the work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, no_args_is_help=False)
def cluster() -> None:
    """Measure one experiment on many machines: plan, run, submit, status, fetch, cancel, merge.

    \b
    Examples:
      heaplab cluster plan -o plan/ --allocators glibc,jemalloc --blocks 2 --machine laptop
      heaplab cluster run plan/ --shard 1/1
      heaplab cluster merge plan/ -o out/merged
    """


for command in (plan, run, submit, status, fetch, cancel, merge):
    cluster.add_command(command)
