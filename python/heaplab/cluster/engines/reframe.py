"""ReFrame: a test that `reframe --distribute` runs on every node, where it takes the shards that are left."""

from heaplab.cluster.engines import worker
from heaplab.cluster.engines.engine import engine_folder
from heaplab.cluster.plan_folder import Plan

TEXT = '''\
"""Carries out shards of a heaplab plan on every node of a system, each shard on one node.

reframe -c THIS_FILE --distribute=all -r      with -C SETTINGS for a system that ReFrame does not know

Nodes must share the folder of the plan. A second run goes on where the first ended.
"""

import reframe as rfm
import reframe.utility.sanity as sn

SHARDS = {shards}


@rfm.simple_test
class heaplab_shards(rfm.RunOnlyRegressionTest):
    """One worker; choose among several kinds of machine by -n 'heaplab_shards%kind=NAME'."""

    kind = parameter(SHARDS)
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    exclusive_access = True
    num_tasks = 1
    executable = {work!r}

    @run_before("run")
    def take_shards(self):
        self.executable_opts = [f"reframe-{{self.hashcode}}", *map(str, SHARDS[self.kind])]

    @sanity_function
    def all_ended_well(self):
        return sn.assert_found({done!r}, self.stdout)
'''


def text(plan: Plan) -> str:
    worker.put_script(plan)
    shards: dict[str, list[int]] = {}
    for shard in plan.shards:
        shards.setdefault(shard.machine, []).append(shard.index)
    return TEXT.format(shards=shards, done=worker.DONE, work=str(engine_folder(plan) / worker.FILE_NAME))
