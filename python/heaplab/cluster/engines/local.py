"""This machine: one worker, which goes on after the terminal is closed."""

from collections.abc import Sequence

from heaplab.cluster.engines import worker
from heaplab.cluster.engines.engine import Held, Submission, answer, engine_folder, said
from heaplab.cluster.plan_folder import Plan
from heaplab.errors import HeaplabError
from heaplab.text import units

NAME = "local"


class Local:
    def submit(self, plan: Plan, shards: Sequence[int], _submission: Submission) -> str:
        for tool in worker.NEEDED:
            answer([tool, "--version"], engine=NAME, package="util-linux")
        worker.put_script(plan)
        host_of(plan).start(shards)
        return f"started {units.counted(len(shards), 'shard')} on this machine, one after the other"

    def held(self, plan: Plan) -> Held:
        if not engine_folder(plan).exists():
            return Held({})
        return Held(host_of(plan).held([shard.index for shard in plan.shards]))

    def fetch(self, plan: Plan) -> str:
        return f"results are here already: {plan.results}"

    def cancel(self, plan: Plan) -> str:
        if engine_folder(plan).exists() and host_of(plan).stop():
            return "stopped the worker on this machine"
        return "nothing was running on this machine"


def host_of(plan: Plan) -> worker.WorkingHost:
    return worker.WorkingHost(NAME, str(plan.folder.resolve()), shell)


def shell(command: str) -> bytes:
    done = answer(["sh", "-c", command], engine=NAME, package="Debian")
    if done.returncode:
        raise HeaplabError(f"{NAME}: {said(done.stderr)}")
    return done.stdout
