"""Copies of a plan on hosts that do not share its folder, and the way of results back."""

import io
import os
import re
import shlex
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from heaplab.cluster.engines import worker
from heaplab.cluster.engines.engine import FOLDER, engine_folder
from heaplab.cluster.plan_folder import FILE_NAME, RESULTS, Plan

RESULTS_FILE = re.compile(r"(?:\./)?(\d{4,}-[0-9a-f]+\.[\w.-]+\.jsonl)")


class Call(Protocol):
    """Runs a shell command on a host with a file as its input, and returns its output."""

    def __call__(self, command: str, source: Path | None = None) -> bytes: ...


@contextmanager
def packed(plan: Plan) -> Iterator[Path]:
    """The plan as an archive, without results and logs."""

    def wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if member.name in (f"./{RESULTS}", f"./{FOLDER}") else member

    with tempfile.NamedTemporaryFile(prefix="heaplab-plan-", suffix=".tar") as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            archive.add(plan.folder, ".", filter=wanted)
            archive.add(engine_folder(plan) / worker.FILE_NAME, f"./{FOLDER}/{worker.FILE_NAME}")
        file.flush()
        yield Path(file.name)


def send(archive: Path, folder: str, call: Call) -> None:
    """Unpack the archive in a folder of a host. A complete copy that is there already stays, with results."""
    whole, part = shlex.quote(folder), shlex.quote(f"{folder}.part")
    call(
        f"[ -e {whole}/{FILE_NAME} ] || {{ rm -rf {part} && mkdir {part} && tar -xf - -C {part} && "
        f"mkdir {part}/{RESULTS} && mv {part} {whole}; }}",
        archive,
    )


def fetch(plan: Plan, folder: str, call: Call) -> int:
    """Bring the results files that have grown, and return their number.

    A results file is appended to and never changed, so that the longer of two copies holds the shorter one.
    """
    came = 0
    data = call(f"cd {shlex.quote(folder)}/{RESULTS} && tar -cf - .")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            name = RESULTS_FILE.fullmatch(member.name)
            content = archive.extractfile(member) if name else None  # None: not a regular file
            if not name or not content:
                continue
            target = plan.results / name[1]
            if target.exists() and target.stat().st_size >= member.size:
                continue
            part = target.with_name(f"{target.name}.{Path(folder).name}.part")
            try:
                part.write_bytes(content.read())
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
            came += 1
    return came
