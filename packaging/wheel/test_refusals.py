#!/usr/bin/env python3
"""Ask pip for the wheel as an older C library, another processor or musl would: it must refuse in one line.

Example: packaging/wheel/test_refusals.py out/wheel/*.whl
"""

import subprocess
import sys
import tempfile
from pathlib import Path

SERVED = ["manylinux_2_28_x86_64", "manylinux_2_28_aarch64"]
REFUSED = ["manylinux_2_27_x86_64", "musllinux_1_2_x86_64", "manylinux_2_28_ppc64le", "macosx_14_0_arm64"]


def pip_takes(wheels: list[Path], platform: str) -> bool:
    """Whether pip for that platform takes one of the wheels. A refusal is one line, and nothing is left."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "-q", "--no-index"]
        command += ["--no-deps", "--only-binary=:all:", f"--platform={platform}", "--python-version=3.11"]
        command += [f"--find-links={wheels[0].parent}", f"--dest={name}", "heaplab"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        taken = [path.name for path in Path(name).iterdir()]
    if done.returncode == 0:
        return bool(taken) and taken[0].endswith(f"_{platform.split('_', 3)[-1]}.whl")
    said = [line for line in done.stderr.splitlines() if "No matching distribution" in line]
    if len(said) != 1 or taken:
        sys.exit(f"{platform}: pip says {done.stderr!r} and leaves {taken}")
    print(f"{platform}: {said[0]}")
    return False


wheels = [Path(word) for word in sys.argv[1:]]
machines = [name for name in SERVED if any(wheel.name.endswith(f"{name}.whl") for wheel in wheels)]
wrong = [name for name in machines if not pip_takes(wheels, name)]
wrong += [name for name in REFUSED if pip_takes(wheels, name)]
if wrong or not machines:
    sys.exit(f"pip takes the wheel where it must not, or not where it must: {wrong or wheels}")
