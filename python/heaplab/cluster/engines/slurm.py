"""Slurm: each shard is an element of an array job that has a node for itself.

The name of the job is derived from the plan. Slurm needs no accounting, and heaplab remembers no number of a
job: `squeue` by that name tells what is waiting or running, results files tell the rest.
"""

import contextlib
import hashlib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from heaplab.cluster.engines.engine import Held, Submission, answer, engine_folder, said
from heaplab.cluster.plan_folder import FILE_NAME, HASH_SHOWN, START_SCRIPT, Plan
from heaplab.errors import UsageError
from heaplab.text import units

# The options of a kind of machine in the plan, which are options of sbatch.
OF_A_MACHINE = ("account", "constraint", "partition", "qos", "reservation", "time")
WARNING_S = 60  # s before the time limit at which heaplab is told to end its run and keep the results
PROBE_S = 5  # s that a node may take to become free for a look at the folder
SHOWN = "%K|%T|%N|%r"  # element of the array, state, nodes, reason for waiting


class Slurm:
    def submit(self, plan: Plan, shards: Sequence[int], submission: Submission) -> str:
        refuse_long_array(max(shards))
        kinds: dict[str, list[int]] = {}  # each becomes an array job
        for shard in plan.shards:
            if shard.index in shards:
                kinds.setdefault(shard.machine, []).append(shard.index)
        for kind in kinds:
            refuse_unshared(plan, [*options_of(plan, kind), *submission.options])
        folder = engine_folder(plan)
        ours = not folder.exists()
        folder.mkdir(exist_ok=True)
        jobs: list[str] = []
        try:
            jobs.extend(submit_array(plan, kind, part, submission) for kind, part in kinds.items())
        except UsageError:
            if jobs:
                slurm("scancel", *jobs)
            if ours:
                with contextlib.suppress(OSError):  # an element that had begun has its log there
                    folder.rmdir()
            raise
        return f"submitted {units.counted(len(shards), 'shard')} to Slurm as job {', '.join(jobs)}"

    def held(self, plan: Plan) -> Held:
        states = {}
        for line in slurm(
            "squeue", "--noheader", "--array", "--me", f"--name={job_name(plan)}", f"--format={SHOWN}"
        ).splitlines():
            shard, state, nodes, reason = line.split("|", 3)
            if shard.isdecimal():
                place = f" on {nodes}" if nodes else f": {reason}"
                states[int(shard)] = {"PENDING": "waiting"}.get(state, state.lower()) + place
        return Held(states)

    def fetch(self, plan: Plan) -> str:
        return f"nodes of Slurm share the folder: results are in {plan.results}"

    def cancel(self, plan: Plan) -> str:
        stopped = len(self.held(plan).shards)
        slurm("scancel", "--me", f"--name={job_name(plan)}")
        return f"cancelled {units.counted(stopped, 'shard')} in Slurm"


def job_name(plan: Plan) -> str:
    """A name that differs between plans, and between folders with the same plan."""
    place = hashlib.sha256(os.fsencode(plan.folder.resolve())).hexdigest()
    return f"heaplab-{plan.hash[:HASH_SHOWN]}-{place[:HASH_SHOWN]}"


def options_of(plan: Plan, kind: str) -> list[str]:
    known = plan.machines[kind].options
    return [f"--{name}={known[name]}" for name in OF_A_MACHINE if name in known]


def submit_array(plan: Plan, kind: str, shards: Sequence[int], submission: Submission) -> str:
    """Submit one array job; return its number.

    `B:TERM` signals the batch script alone, which heaplab has replaced by `exec`: heaplab ends its run and
    keeps the results. After a dead node or pre-emption, Slurm requeues the element, which goes on where its
    results file ends.
    """
    folder = engine_folder(plan)
    run_shard = shlex.quote(str(folder.parent / START_SCRIPT))
    printed = slurm(
        "sbatch",
        "--parsable",
        f"--job-name={job_name(plan)}",
        f"--array={','.join(map(str, shards))}",
        "--nodes=1",
        "--ntasks=1",
        "--exclusive",
        "--requeue",
        f"--signal=B:TERM@{WARNING_S}",
        "--open-mode=append",
        f"--output={str(folder).replace('%', '%%')}/slurm-%a.log",
        f"--chdir={folder.parent}",
        *options_of(plan, kind),
        *submission.options,
        f'--wrap=exec {run_shard} "$SLURM_ARRAY_TASK_ID/{len(plan.shards)}"',
    )
    return printed.split(";")[0].strip()


def refuse_long_array(last: int) -> None:
    """Raise UsageError if the cluster has no array with an element of this number."""
    for line in slurm("scontrol", "show", "config").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "MaxArraySize" and last >= int(value):
            raise UsageError(
                f"slurm: shard {last} is outside 1 to {int(value) - 1}, the elements of an array job on this "
                "cluster; plan fewer shards of more blocks"
            )


def refuse_unshared(plan: Plan, options: Sequence[str]) -> None:
    """Raise UsageError if a node that is free now does not see the plan."""
    path = str(plan.folder.resolve() / FILE_NAME)
    look = answer(
        ["srun", "--quiet", f"--immediate={PROBE_S}", "-N1", "-n1", "--chdir=/", *options, "sha256sum", path],
        engine="slurm",
        package="Slurm's client programs",
    )
    ours = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if b"sha256sum: " in look.stderr or (look.returncode == 0 and ours.encode() not in look.stdout):
        raise UsageError(
            f"slurm: nodes do not see {path}: plan in a folder that all nodes share, such as $HOME or a "
            "scratch file system"
        )


def slurm(tool: str, *words: str) -> str:
    """The output of a tool of Slurm. Raises UsageError with the tool's own words if it fails."""
    done = answer([tool, *words], engine="slurm", package="Slurm's client programs")
    if done.returncode:
        raise UsageError(f"slurm: {said(done.stderr).replace(f'{tool}: error: ', '')}")
    return done.stdout.decode()
