"""A laboratory for the runner: a fake workload in Python, and libraries that serve malloc for real."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import Laboratory

LIBRARY = r"""
#include <stddef.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
const char* fake_name = NAME;
void* malloc(size_t size) { return __libc_malloc(size); }
void free(void* block) { __libc_free(block); }
"""

# Prints a sample whose value depends on the allocator. What it does beyond that is asked for by variables
# FAKE_CRASH, FAKE_HANG, FAKE_EXIT, FAKE_GARBAGE (an allocator's library file) and FAKE_LOG.
WORKLOAD = r"""#!{python} -SE
import json, os, sys, time
from pathlib import Path
preload = os.environ.get("LD_PRELOAD", "")
library = Path(preload).name or "libc.so.6"
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if log := os.environ.get("FAKE_LOG"):
    with open(log, "a") as stream:
        stream.write(library + " " + " ".join(sys.argv[1:5]) + "\n")
if os.environ.get("FAKE_CRASH") == library:
    os.abort()
if os.environ.get("FAKE_HANG") == library:
    time.sleep(600)
if os.environ.get("FAKE_EXIT") == library:
    print("the second check failed", file=sys.stderr)
    sys.exit(3)
value = 1.1 if library == "libslow.so" else 1.0
value *= 1 + (int(options["--seed"]) * 7 % 5 - 2) / 1000
served = os.environ.get("FAKE_SERVED") or preload or "/lib/libc.so.6"
sample = dict(schema=1, workload="fake", parameters={{}}, seed=int(options["--seed"]),
    metrics=dict(time=dict(value=value, unit="s")),
    served_by={{"malloc": dict(path=served), "operator new": dict(path=served)}})
text = json.dumps(sample)
if os.environ.get("FAKE_GARBAGE") == library:
    text = text[:40]
os.write(int(options["--json"].removeprefix("fd:")), text.encode())
"""

WORKLOAD_CARD = """
title = "fake"
program = "{program}"
main_metric = "time"
timeout_s = 20
[card]
source = "a test"
shows = "a planted difference"
does_not_show = "anything else"
defaults = "none"
[metrics]
time = {{ title = "time", unit = "s" }}
"""

EXPERIMENT = """
title = "fake"
publication = "a test"
figure = "Figure 1"
claim = "slow is slow"
workload = "fake"
metrics = ["time"]
[quick]
blocks = 5
blocks_most = 5
sweep = { size = [1, 2] }
[full]
sweep = { size = [1, 2] }
"""


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Libraries that define malloc, by name."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "library.c").write_text(LIBRARY)
    built = {}
    for name in ("same", "slow"):
        built[name] = folder / f"lib{name}.so"
        command = ["cc", "-shared", "-fPIC", f'-DNAME="{name}"', "-o", built[name], folder / "library.c"]
        subprocess.run([*map(str, command), "-fno-builtin-malloc"], check=True)
    return built


@pytest.fixture
def catalog_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog with the fake workload and one experiment on it, and nothing of the user's."""
    program = tmp_path / "fake_workload"
    program.write_text(WORKLOAD.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "catalog"
    for name, text in {
        "workloads/fake.toml": WORKLOAD_CARD.format(program=program),
        "experiments/fake/one.toml": EXPERIMENT,
        "suites/fake.toml": 'title = "fake"\nexperiments = ["fake/*"]\n',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HEAPLAB_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def lab(catalog_folder: Path, libraries: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> Laboratory:
    return Laboratory(catalog_folder, libraries, capsys)
