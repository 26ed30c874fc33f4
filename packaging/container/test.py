#!/usr/bin/env python3
"""Take the steps of the Containerfile in a bare Debian root, without a container engine, and use the result.

COPY, RUN, USER, WORKDIR and ENTRYPOINT are followed; any other instruction but FROM and CMD fails the test.
Example: packaging/container/test.py        needs make wheel, and what tools/debian_root.sh needs
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TOP = HERE.parents[1]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def instructions(text: str) -> list[tuple[str, str]]:
    """Name and argument of each instruction, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in joined.splitlines() if line]


def hooks(steps: list[tuple[str, str]], uses: list[str]) -> list[str]:
    """What mmdebstrap is to do to the root, the uses of the finished container last."""
    done, entry, folder, user = [], [], "/", "root"
    for name, argument in steps:
        match name:
            case "FROM":
                if "bookworm" not in argument:
                    sys.exit(f"{argument}: this test makes roots of bookworm")
            case "COPY":
                source, target = argument.split()
                done += [f'mkdir -p "$1{target}"', f'cp -r {TOP / source}/. "$1{target}"']
            case "RUN":
                done.append(f'chroot "$1" sh -euc {shlex.quote(argument)}')
            case "USER":
                user = argument
            case "WORKDIR":
                folder = argument
            case "ENTRYPOINT":
                entry = json.loads(argument)
            case "CMD":
                pass
            case _:
                sys.exit(f"Containerfile: {name} is not followed by this test")
    # USER is known to the root alone: its su finds the number.
    for use in uses:
        command = f"cd {folder} && {shlex.join(entry)} {use}"
        done.append(f'unshare --net chroot "$1" su {user} -s /bin/sh -c {shlex.quote(command)}')
    return done


def main() -> None:
    if not list((TOP / "out/wheel").glob(f"heaplab-*_{os.uname().machine}.whl")):
        sys.exit("no wheel for this machine in out/wheel; make wheel builds it")
    uses = ["doctor", "compare --budget 30s --allocators glibc,scalloc -o out -- ls /", "list allocators"]
    options = [f"--customize-hook=upload {CERTIFICATES} {CERTIFICATES}"]
    if Path("/etc/pip.conf").is_file():
        options.append("--customize-hook=upload /etc/pip.conf /etc/pip.conf")
    options += [
        f"--customize-hook={hook}" for hook in hooks(instructions((HERE / "Containerfile").read_text()), uses)
    ]
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log"
        command = [TOP / "tools/debian_root.sh", "/dev/null", "--variant=apt", "--include=ca-certificates"]
        with log.open("w") as stream:
            status = subprocess.run(
                [*command, *options],
                env=os.environ | {"HEAPLAB_DEBIAN_RELEASE": "bookworm"},
                stdout=stream,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        print(log.read_text()[-6000:])
        if status:
            sys.exit(f"the steps of the Containerfile failed with status {status}")
        found = next(line for line in log.read_text().splitlines() if line.startswith("allocators here"))
    missing = {"jemalloc", "mimalloc", "scalloc", "tbbmalloc", "tcmalloc"} - set(found.split())
    if missing:
        sys.exit(f"the container lacks {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main()
