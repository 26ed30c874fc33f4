"""ssh: a list of hosts, on each of which a worker carries out its part of the shards.

Hosts that share the folder of the plan work in it. With --copy-to, each host gets a copy of its own, from
which `fetch` brings the results. The file `engines/ssh.json` of the plan tells which shards each host got.
"""

import hashlib
import shlex
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from heaplab.cluster.engines import copies, worker
from heaplab.cluster.engines.engine import Held, Submission, answer, engine_folder, said
from heaplab.cluster.plan_folder import FILE_NAME, Plan
from heaplab.errors import HeaplabError, UsageError, fault_of
from heaplab.files import regular_file
from heaplab.text import units

RECORD = "ssh.json"
OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=15")
OF_A_MACHINE = "hosts"  # the option of a kind of machine in the plan
FAILED = 255  # exit status of ssh's own failures
AT_ONCE = 32  # connections at the same time
COPY_S = 3600.0  # s that copying a plan with its bundle to a host may take
NEEDED = ("sha256sum", "tar", *worker.NEEDED)
ADVICE = {
    "Permission denied": "renew your key, ticket or certificate (ssh-add, kinit)",
    "Host key verification failed": "log in by hand once and compare the key of the host",
    "Could not resolve hostname": "look whether the name is right",
}
Given = TypeVar("Given")


class HostPart(BaseModel):
    folder: str  # of the plan on the host
    copied: bool
    shards: list[int] = []


class HostList(BaseModel):
    """The content of engines/ssh.json."""

    options: list[str] = []
    hosts: dict[str, HostPart] = {}

    def caller(self, name: str) -> copies.Call:
        """A function that runs a command on the host in sh, whatever shell its user has."""

        def call(command: str, source: Path | None = None) -> bytes:
            words = ["ssh", *OPTIONS, *self.options, "--", name, f"sh -c {shlex.quote(command)}"]
            done = answer(words, engine="ssh", package="OpenSSH's client", source=source, seconds=COPY_S)
            if done.returncode == FAILED:
                reason = said(done.stderr).split("; ")[-1].rstrip(".")
                advice = next((f"; {advice}" for failure, advice in ADVICE.items() if failure in reason), "")
                raise UsageError(f"ssh: {name}: {reason}{advice}")
            if done.returncode:
                raise HeaplabError(f"ssh: {name}: {said(done.stderr) or f'exit status {done.returncode}'}")
            return done.stdout

        return call


class Ssh:
    def submit(self, plan: Plan, shards: Sequence[int], submission: Submission) -> str:
        record = recorded(plan)
        if submission.options:
            record.options = list(submission.options)
        hosts = hosts_by_kind(plan, named_hosts(submission.hosts), record.hosts)
        names = [name for of_kind in hosts.values() for name in of_kind]
        parts = each(names, lambda name: looked_at(plan, name, record, submission.copy_to))
        at_work = each(names, lambda name: held_by(name, record))
        idle = {kind: [name for name in of_kind if not at_work[name]] for kind, of_kind in hosts.items()}
        for name, given in assigned(plan, shards, idle, record).items():
            parts[name].shards = given
        used = {name: part for name, part in parts.items() if part.shards}
        worker.put_script(plan)
        record.hosts |= used
        if copied := [name for name, part in used.items() if part.copied]:
            with copies.packed(plan) as packed:
                each(copied, lambda name: copies.send(packed, used[name].folder, record.caller(name)))
        (engine_folder(plan) / RECORD).write_text(record.model_dump_json(indent=1) + "\n")
        each(used, lambda name: host_of(name, record).start(used[name].shards))
        started = units.counted(sum(len(part.shards) for part in used.values()), "shard")
        return f"started {started} on {units.counted(len(used), 'host')}"

    def held(self, plan: Plan) -> Held:
        record = recorded(plan)

        def of_host(name: str) -> Held:
            try:
                return Held(held_by(name, record))
            except HeaplabError as error:  # a host that is gone holds no shards
                return Held({}, (str(error),))

        answers = each(record.hosts, of_host).values()
        return Held(
            {shard: says for state in answers for shard, says in state.shards.items()},
            tuple(trouble for state in answers for trouble in state.troubles),
        )

    def fetch(self, plan: Plan) -> str:
        record = recorded(plan)
        copied = [name for name, part in record.hosts.items() if part.copied]
        if not copied:
            return f"hosts share the folder: results are in {plan.results}"
        came = each(
            copied, lambda state: copies.fetch(plan, record.hosts[state].folder, record.caller(state))
        )
        return f"fetched {sum(came.values())} results files from {len(copied)} hosts"

    def cancel(self, plan: Plan) -> str:
        record = recorded(plan)
        stopped = each(record.hosts, lambda name: host_of(name, record).stop())
        return f"stopped workers on {sum(stopped.values())} of {len(stopped)} hosts"


def recorded(plan: Plan) -> HostList:
    path = engine_folder(plan) / RECORD
    if not path.exists():
        return HostList()
    try:
        return HostList.model_validate_json(regular_file.content_of(path))
    except ValidationError as error:
        raise UsageError(f"{path}: {fault_of(error, 'no list of hosts')}") from error


def hosts_by_kind(plan: Plan, given: Sequence[str], known: Iterable[str]) -> dict[str, list[str]]:
    """The hosts of each kind of machine: given with --hosts, else in the plan, else known from before."""
    hosts = {kind: named_hosts(of.options.get(OF_A_MACHINE, "")) for kind, of in plan.machines.items()}
    if len(hosts) == 1:
        [(kind, planned)] = hosts.items()
        hosts = {kind: list(given or planned or known)}
    elif given:
        raise UsageError(
            f"ssh: --hosts does not tell {len(hosts)} kinds of machine apart: plan each with hosts of its own"
        )
    for kind, names in hosts.items():
        if not names:
            raise UsageError(f"ssh: no host for machines of kind {kind}: give --hosts FILE|NAME,NAME")
    return hosts


def named_hosts(text: str) -> list[str]:
    """The hosts in a text, separated by commas, or in a file, one a line; # begins a comment."""
    is_file = text and Path(text).is_file()
    lines = regular_file.text_of(Path(text)).splitlines() if is_file else text.split(",")
    names = [name for line in lines if (name := line.partition("#")[0].strip())]
    for name in names:
        if name.startswith("-") or set(name) & set("/ \t"):
            raise UsageError(f"ssh: {name!r} is no name of a host")
    return list(dict.fromkeys(names))


def each(names: Iterable[str], do: Callable[[str], Given]) -> dict[str, Given]:
    """Do something for all hosts at the same time; raise the first error after all are done."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {name: pool.submit(do, name) for name in names}
        return {name: future.result() for name, future in futures.items()}


def looked_at(plan: Plan, name: str, record: HostList, copy_to: str) -> HostPart:
    """The part that the host will have, still without shards. Raises UsageError if it cannot take part."""
    call = record.caller(name)
    looks = f"for tool in {' '.join(NEEDED)}; do command -v $tool >/dev/null || echo $tool; done"
    missing = call(looks).decode().split()
    if missing:
        raise UsageError(f"ssh: {name}: {missing[0]} is not installed there")
    before = record.hosts.get(name)
    if before and before.copied and not copy_to:
        return HostPart(folder=before.folder, copied=True)
    if copy_to:
        if call(f"[ -d {shlex.quote(copy_to)} ] && [ -w {shlex.quote(copy_to)} ] || echo no"):
            raise UsageError(f"ssh: {name}: {copy_to} is no folder there that can be written to")
        return HostPart(folder=f"{copy_to}/{plan.hash}-{name}", copied=True)
    path = plan.folder.resolve() / FILE_NAME
    there = call(f"sha256sum {shlex.quote(str(path))} 2>&1 || true").split()[0]
    if there.decode() != hashlib.sha256(path.read_bytes()).hexdigest():
        raise UsageError(f"ssh: {name} does not see {path}: share the folder, or copy it: --copy-to DIR")
    return HostPart(folder=str(path.parent), copied=False)


def held_by(name: str, record: HostList) -> dict[int, str]:
    return host_of(name, record).held(record.hosts[name].shards) if name in record.hosts else {}


def assigned(
    plan: Plan, shards: Sequence[int], idle: dict[str, list[str]], record: HostList
) -> dict[str, list[int]]:
    """The shards of each host: to the host that had a shard before and may have begun it, else in turns."""
    parts: dict[str, list[int]] = {name: [] for names in idle.values() for name in names}
    for shard in plan.shards:
        names = idle[shard.machine]
        if shard.index not in shards:
            continue
        if not names:
            raise UsageError(
                "ssh: every host is at work on this plan: submit again when one is done, or cancel"
            )
        before = [name for name in names if name in record.hosts and shard.index in record.hosts[name].shards]
        parts[min(before or names, key=lambda name: len(parts[name]))].append(shard.index)
    return parts


def host_of(name: str, record: HostList) -> worker.WorkingHost:
    return worker.WorkingHost(name, record.hosts[name].folder, record.caller(name))
