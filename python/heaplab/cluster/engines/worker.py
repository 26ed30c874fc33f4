"""The worker of a host: carries out shards one after the other, and goes on when the terminal is closed.

A worker is a process group under a lock, which its processes inherit: while the lock is held, the group is
alive, and its number stands in a file beside the lock. A shard has a lock too, because workers that share a
folder may be given the same shards.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heaplab.cluster.engines.engine import engine_folder
from heaplab.cluster.plan_folder import Plan
from heaplab.errors import UsageError
from heaplab.files.output import replacing

FILE_NAME = "work"
NEEDED = ("flock", "setsid")  # both of util-linux
DONE = "every shard ended well"
START_S = 5  # s that the earlier worker may take to end after its last shard
END_S = 20  # s that a worker may take to end its run and keep the results

SCRIPT = f"""\
#!/bin/sh
# Carries out shards of the plan in the folder above, one after the other.
# Usage: work NAME SHARD...      NAME tells workers of one folder apart
cd "$(dirname "$0")" || exit
name=$1
shift
status=0
for shard; do
  echo "$shard" >"$name.new" && mv "$name.new" "$name.shard" # nobody reads half of it
  (
    flock -n 9 || exit 0 # another worker has it
    exec ../run "$shard/SHARDS"
  ) 9>>"shard-$shard.lock" || status=$?
done
[ $status -ne 0 ] || echo "{DONE}"
exit $status
"""


@dataclass(frozen=True)
class WorkingHost:
    """A machine with the plan in `folder`; `call` runs a shell command there and returns its output."""

    name: str
    folder: str
    call: Callable[[str], bytes]

    def _in_engines(self, command: str) -> bytes:
        return self.call(f"cd {shlex.quote(f'{self.folder}/engines')} && {{ {command}; }}")

    def start(self, shards: Sequence[int]) -> None:
        """Start a worker. Raises UsageError if a worker is running.

        The lock is taken before the worker starts, so that the next call finds the lock held.
        """
        name = shlex.quote(self.name)
        busy = self._in_engines(
            f"( flock -w {START_S} 8 || {{ echo busy; exit 0; }}; echo {shards[0]} >{name}.shard; "
            f"setsid ./{FILE_NAME} {name} {' '.join(map(str, shards))} >>{name}.log 2>&1 </dev/null & "
            f"echo $! >{name}.pid ) 8>>{name}.lock"
        )
        if busy:
            raise UsageError(f"{self.name}: is at work on this plan; submit again when it is done, or cancel")

    def held(self, shards: Sequence[int]) -> dict[int, str]:
        """The state of the shards that the host was given: one is running, the others wait."""
        name = shlex.quote(self.name)
        at_work = self._in_engines(f"[ ! -e {name}.lock ] || flock -n {name}.lock true || cat {name}.shard")
        if not at_work:
            return {}
        running = int(at_work)
        behind = shards[shards.index(running) :] if running in shards else ()
        return dict.fromkeys(behind, f"waiting for {self.name}") | {running: f"running on {self.name}"}

    def stop(self) -> bool:
        """End the worker with all its processes. Return whether there was a worker."""
        name = shlex.quote(self.name)
        group = f'-- "-$(cat {name}.pid)"'
        return bool(
            self._in_engines(
                f"[ ! -e {name}.lock ] || flock -n {name}.lock true || "
                f"{{ echo stopped; kill -s TERM {group}; "
                f"flock -w {END_S} {name}.lock true || kill -s KILL {group}; }}"
            )
        )


def put_script(plan: Plan) -> None:
    folder = engine_folder(plan)
    folder.mkdir(exist_ok=True)
    with replacing(folder / FILE_NAME) as beside:  # a shell may be reading the earlier script
        beside.write_text(SCRIPT.replace("SHARDS", str(len(plan.shards))))
        beside.chmod(0o755)
