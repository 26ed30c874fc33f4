"""A postgres server: a new cluster, pgbench's tables, and transactions whose sums must agree."""

import os
import pwd
import shutil
from pathlib import Path

from serving import ProgramError, call, client, serving

SCALE, CLIENTS, TRANSACTIONS = 1, 4, 250  # each client's transactions
SETTINGS = ("listen_addresses=", "fsync=off", "jit=off", "shared_buffers=16MB")
SUMS = """
select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history),
       (select sum(tbalance) from pgbench_tellers) = (select sum(delta) from pgbench_history),
       (select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history),
       (select count(*) from pgbench_history),
       (select md5(string_agg(aid::text || filler, ',' order by aid)) from pgbench_accounts)
"""


def programs() -> Path:
    """The newest installed version's folder of programs: Debian has them in no folder of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda file: int(file.parts[4]))
    if not found:
        raise ProgramError("postgres: not installed (Debian package postgresql)")
    return found[-1].parent


def postgres(environment: dict[str, str], folder: Path) -> str:
    """Return whether the sums agree after concurrent transactions, and a digest of what these leave alone."""
    bin_ = programs()
    user = None if os.getuid() else "postgres"  # the server refuses to run as root
    if user:
        shutil.chown(folder, pwd.getpwnam(user).pw_uid)
    name = f"@heaplab-{os.getpid()}"  # an abstract socket: a path would have at most 107 characters
    around = {"HOME": str(folder), "PGHOST": name, "PGDATABASE": "postgres", "PGUSER": "heaplab"}

    def run(words: dict[str, str], program: str, *arguments: str) -> str:
        return call(words | around, folder, str(bin_ / program), *arguments, user=user)

    outside = client(environment)
    run(environment, "initdb", "-D", "data", "-A", "trust", "-U", "heaplab", "--no-sync", "--locale", "C")
    command = [str(bin_ / "postgres"), "-D", "data"]
    for setting in (*SETTINGS, f"unix_socket_directories={name}"):
        command += ["-c", setting]

    def ready() -> bool:
        try:
            return bool(run(outside, "pg_isready", "-q") == "")
        except ProgramError:
            return False

    with serving(command, environment, folder, ready, user):
        run(outside, "pgbench", "-i", "-q", "-s", str(SCALE))
        run(outside, "pgbench", "-n", "-c", str(CLIENTS), "-j", "2", "-t", str(TRANSACTIONS))
        return run(outside, "psql", "-At", "-c", SUMS)
