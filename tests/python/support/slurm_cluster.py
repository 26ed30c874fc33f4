"""A Slurm of a test's own: slurmctld and three slurmd on loopback, without accounting, munge and root."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from marked_processes import kill_marked
from subprocesses import printed_by, ran, until

DAEMONS = ("slurmctld", "slurmd", "sbatch")
NODES = ("n1", "n2", "n3")
LOW, HIGH = "low", "high"  # partitions; a job in HIGH pre-empts those in LOW
# Debian installs daemons where only root looks.
PATH = f"{os.environ['PATH']}:/usr/sbin"
PATIENCE_S, PAUSE_S = 120.0, 0.3

SETTINGS = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ReturnToService=2
SlurmdTimeout=4
KillWait=3
JobRequeue=0
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
{nodes}
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""
# Slurm 22.05 needs a plugin for control groups. That of version 1 is not used by the settings above, and
# looks at no mount.
CONTROL_GROUPS = "CgroupPlugin=cgroup/v1\nCgroupMountpoint={folder}\n"


def missing() -> str:
    """Why there can be none here, in one line; "" where there can."""
    absent = [name for name in DAEMONS if shutil.which(name, path=PATH) is None]
    return f"Slurm is not installed: {', '.join(absent)}" if absent else ""


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(true: Callable[[], object], what: str) -> None:
    until(true, what, PATIENCE_S, PAUSE_S)


class SlurmCluster:
    """Started and stopped part by part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        host = socket.gethostname().partition(".")[0]
        ports = free_ports(1 + len(NODES))
        user = printed_by("id", "-un").strip()
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
            for name, port in zip(NODES, ports[1:], strict=True)
        )
        (folder / "state").mkdir()
        self.settings = folder / "slurm.conf"
        self.settings.write_text(
            SETTINGS.format(host=host, ports=ports, user=user, folder=folder, nodes=nodes)
        )
        (folder / "cgroup.conf").write_text(CONTROL_GROUPS.format(folder=folder))
        self.environment = {"SLURM_CONF": str(self.settings), "PATH": PATH}
        self.controller: subprocess.Popen[bytes] | None = None
        self.daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self.start_controller()
        for name in NODES:
            self.start_node(name)
        wait_until(lambda: self.states().count("idle") == len(NODES), "three nodes are idle")

    def _started(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        daemon = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            env=os.environ | self.environment | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.daemons.append(daemon)
        return daemon

    def start_controller(self) -> None:
        self.controller = self._started("slurmctld", "-D")

    def start_node(self, name: str) -> None:
        """Processes of a node, and only these, have its name in their environment."""
        (self.folder / f"spool-{name}").mkdir(exist_ok=True)
        self._started("slurmd", "-D", "-N", name, SLURMD_NODENAME=name)

    def call(self, *command: str) -> str:
        return ran(*command, env=os.environ | self.environment, timeout=PATIENCE_S).stdout

    def states(self) -> list[str]:
        """Of the nodes."""
        return self.call("sinfo", "--noheader", "--Node", f"--partition={LOW}", "--format=%t").split()

    def restart_controller(self) -> None:
        self.controller.terminate()
        self.controller.wait()
        self.start_controller()
        wait_until(self.states, "the controller answers")

    def pre_empt(self, node: str) -> None:
        """Submit a job that takes the node from a job in LOW."""
        options = ("--exclusive", f"--nodelist={node}", "--output=/dev/null", "--wrap=true")
        self.call("sbatch", f"--partition={HIGH}", *options)

    def kill_node(self, name: str) -> int:
        """Kill slurmd, slurmstepd and jobs of a node; return how many processes that was.

        The controller would find out in half a minute. It is told, as by a site's check of health.
        """
        killed = kill_marked(SLURM_CONF=str(self.settings), SLURMD_NODENAME=name)
        self.call("scontrol", "update", f"nodename={name}", "state=down", "reason=killed")
        return killed

    def boot_node(self, name: str) -> None:
        self.start_node(name)
        self.call("scontrol", "update", f"nodename={name}", "state=resume")

    def stop(self) -> None:
        kill_marked(SLURM_CONF=str(self.settings))
        for daemon in self.daemons:
            daemon.wait()
