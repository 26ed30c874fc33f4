"""An sshd of a test's own on a loopback port, under the names of several hosts."""

import getpass
import os
import shutil
import subprocess
from pathlib import Path

from marked_processes import kill_marked
from slurm_cluster import PATH, free_ports, wait_until

PROGRAMS = ("sshd", "ssh", "ssh-keygen")
HOSTS = ("n1", "n2", "n3")
MARK = "HEAPLAB_TEST_HOST"  # set for all processes of a host

SERVER = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
AuthenticationMethods publickey
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
AcceptEnv *
"""
# `expired` presents a key that is not known, `stranger` has a key that the client does not know.
CLIENT = """\
Host {hosts} expired stranger
  HostName 127.0.0.1
  Port {port}
  User {user}
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  IdentitiesOnly yes
  IdentityAgent none
Host stranger
  HostKeyAlias stranger
Host expired
  IdentityFile {folder}/old_key
Host {hosts} stranger
  IdentityFile {folder}/key
"""


def missing() -> str:
    """Why there can be none here, in one line; "" where there can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    return f"OpenSSH is not installed: {', '.join(absent)}" if absent else ""


class SshServer:
    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """`environment` is that of every login."""
        self.folder = folder
        (self.port,) = free_ports(1)
        for name in ("host_key", "key", "old_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True
            )
        (folder / "sshd_config").write_text(SERVER.format(port=self.port, folder=folder))
        given = " ".join(f'"{name}={value}"' for name, value in environment.items())
        marks = "".join(f"Host {name}\n  SetEnv {MARK}={self.mark(name)} {given}\n" for name in HOSTS)
        self.client = folder / "ssh_config"
        self.client.write_text(
            marks
            + CLIENT.format(hosts=" ".join(HOSTS), port=self.port, user=getpass.getuser(), folder=folder)
        )
        key = (folder / "host_key.pub").read_text()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}")

    def mark(self, host: str) -> str:
        return f"{self.folder.name}-{host}"

    def start(self) -> None:
        if os.getuid() == 0:  # sshd wants this folder of root, which Debian's service creates
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        sshd = shutil.which("sshd", path=PATH)
        log = self.folder / "sshd.log"
        self.daemon = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", sshd, "-D", "-E", log, "-f", self.folder / "sshd_config"]
        )
        wait_until(lambda: log.exists() and b"listening" in log.read_bytes(), "sshd listens")

    def kill_host(self, name: str) -> int:
        """Kill all processes that were started by logging in under a name."""
        return kill_marked(**{MARK: self.mark(name)})

    def stop(self) -> None:
        for name in HOSTS:
            self.kill_host(name)
        self.daemon.kill()
        self.daemon.wait()
