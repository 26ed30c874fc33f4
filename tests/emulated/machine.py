"""A machine for AArch64 that qemu emulates, with the kernel of a Debian root: tools/test_emulated.sh.

FOLDER holds `root`, a Debian root for AArch64, and `tree`, a build for it.
"""

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 900  # at most


def work_folder(folder: Path, script: str, *files: Path) -> Path:
    """The folder of the machine in which it runs the script, with these files."""
    work = folder / "root/emulated"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for file in files:
        shutil.copy(file, work)
    (work / "run.sh").write_text(script)
    return work


def boot(folder: Path, *options: str) -> str:
    """What the machine writes to its console."""
    root, packed = folder / "root", folder / "initramfs"
    shutil.copy(HERE / "init.sh", root / "init")
    paths = sorted(path.relative_to(root) for path in root.rglob("*"))
    names = "\0".join(str(path) for path in paths if path.parts[0] != "boot")
    with packed.open("wb") as file:
        command = ["cpio", "--quiet", "--null", "-o", "-H", "newc"]
        subprocess.run(command, cwd=root, input=names.encode(), stdout=file, check=True)
    [kernel] = (root / "boot").glob("vmlinuz-*")
    machine = ["qemu-system-aarch64", "-M", "virt", "-m", "2G", *options]
    without = ["-net", "none", "-nographic", "-no-reboot"]
    files = ["-kernel", str(kernel), "-initrd", str(packed)]
    command = ["timeout", str(SECONDS), *machine, *without, *files]
    command += ["-append", "console=ttyAMA0 quiet panic=-1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout.replace("\r", "") + done.stderr
