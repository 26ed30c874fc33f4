"""A laboratory for the runner: a fake workload, and libraries that serve malloc for real."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Laboratory, cut_off, success
from subprocesses import OVER_LIBC, SHARED, compiled, written
from traces import two_threads, write_trace

from heaplab.machine import native, signals
from heaplab.report.page import report_page
from heaplab.results import store

# Files whose tests take longest.
LONGEST = ("test_examples.py", "test_action.py", "test_check_planted.py", "test_engines.py", "test_site.py")
LIBRARY = f"const char* fake_name = NAME;{OVER_LIBC}"

# Prints a sample whose value depends on the allocator. What it does beyond that is asked for by variables
# FAKE_CRASH, FAKE_HANG, FAKE_EXIT, FAKE_GARBAGE (an allocator's library file), FAKE_SERVED and FAKE_LOG.
WORKLOAD = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* library;

static int asked(const char* variable) {
  const char* value = getenv(variable);
  return value && strcmp(value, library) == 0;
}

static const char* option(char** words, const char* name) {
  while (*words && strcmp(*words, name)) ++words;
  return *words ? words[1] : "";
}

int main(int argc, char** argv) {
  if (strcmp(argv[argc - 1], "--estimate") == 0) {
    const char* each = getenv("FAKE_ESTIMATE");
    return printf("{\"memory\":%lld}\n", each ? atoll(each) * atoll(option(argv, "--size")) : 0LL) < 0;
  }
  const char* preload = getenv("LD_PRELOAD");
  const char* served = getenv("FAKE_SERVED");
  if (!served) served = preload ? preload : "/lib/libc.so.6";
  library = preload ? strrchr(preload, '/') + 1 : "libc.so.6";
  if (getenv("FAKE_LOG")) {
    FILE* log = fopen(getenv("FAKE_LOG"), "a");
    fprintf(log, "%s %s %s\n", library, argv[1], argv[2]);
    fclose(log);
  }
  if (asked("FAKE_CRASH")) abort();
  // On a busy machine, too, this is a program that waits: its arms never take turns, and each block counts.
  usleep(asked("FAKE_HANG") ? 600000000 : 12000);
  if (asked("FAKE_EXIT")) {
    fputs("the second check failed\n", stderr);
    return 3;
  }
  const int seed = atoi(option(argv, "--seed"));
  double value = (strcmp(library, "libslow.so") ? 1.0 : 1.1) * (1 + (seed * 7 % 5 - 2) / 1000.0);
  if (strcmp(option(argv, "--mode"), "twice") == 0) value *= 2;
  char text[2000];
  const int length = snprintf(text, sizeof text,
    "{\"schema\":1,\"workload\":\"fake\",\"parameters\":{},\"seed\":%d,"
    "\"metrics\":{\"time\":{\"value\":%.17g,\"unit\":\"s\"}},"
    "\"served_by\":{\"malloc\":{\"path\":\"%s\"},\"operator new\":{\"path\":\"%s\"}}}",
    seed, value, served, served);
  const int target = atoi(option(argv, "--json") + strlen("fd:"));
  return write(target, text, asked("FAKE_GARBAGE") ? 40 : length) <= 0;
}
"""

WORKLOAD_CARD = """
title = "fake"
program = "PROGRAM"
main_metric = "time"
timeout_s = 20
[card]
source = "a test"
shows = "a planted difference"
does_not_show = "anything else"
defaults = "none"
[metrics]
time = { title = "time", unit = "s" }
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


COMPARED = EXPERIMENT.replace(
    "metrics =", 'compare = { along = "mode", reference = "once" }\nmetrics ='
).replace("size = [1, 2]", 'size = [1, 2], mode = ["once", "twice"]')

signals.listen()  # tests that are ended leave no folders either


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Libraries that define malloc, by name."""
    folder = tmp_path_factory.mktemp("libraries")
    options = (*SHARED, "-fno-builtin-malloc")
    return {
        name: compiled(folder / f"lib{name}.so", LIBRARY, f'-DNAME="{name}"', *options)
        for name in ("same", "slow")
    }


@pytest.fixture(scope="session")
def catalog_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog with the fake workload and one experiment on it."""
    top = tmp_path_factory.mktemp("laboratory")
    program = compiled(top / "fake_workload", WORKLOAD)
    files = {
        "workloads/fake.toml": WORKLOAD_CARD.replace("PROGRAM", str(program)),
        "experiments/fake/one.toml": EXPERIMENT,
        "experiments/compared/one.toml": COMPARED,
        "suites/fake.toml": 'title = "fake"\nexperiments = ["fake/*"]\n',
    }
    return written(top / "catalog", files)


@pytest.fixture(scope="session", autouse=True)
def nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("HEAPLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def finished(
    catalog_folder: Path, libraries: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Laboratory:
    """A laboratory in which the experiment was carried out with nothing going wrong: for reading only."""
    lab = Laboratory(catalog_folder, libraries, tmp_path_factory.mktemp("finished") / "out")
    success(lab.run())
    return lab


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Imported where it is needed: many tests need no browser."""
    from in_browser import running

    with running() as browser:
        yield browser


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_trace(tmp_path / "x.trace", two_threads())
    return tmp_path / "x.trace"


MEASURES = {"lab", "complete", "half_done", "finished"}
DRAWS = {"page", "small_campaign"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what carries out campaigns or draws pages. Put the files that take longest first.

    Workers are given whole files in this order.
    """
    for item in items:
        if isinstance(item, pytest.Function) and MEASURES & set(item.fixturenames):
            item.add_marker("starts_programs")
        if isinstance(item, pytest.Function) and DRAWS & set(item.fixturenames):
            item.add_marker("slow")
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from what stays anyway: it writes to each object, and campaigns fork."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, libraries: dict[str, Path]) -> Path:
    """A folder for stand-ins of package clients: before all others on PATH, beside an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("HEAPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_LIBRARY", str(libraries["same"]))
    return folder


@pytest.fixture
def lab(
    catalog_folder: Path, libraries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Laboratory:
    """A laboratory in which nothing was done yet, and which leaves out the page with its figures."""
    monkeypatch.setattr(report_page, "write_html", lambda _analyses, _path: None)
    return Laboratory(catalog_folder, libraries, tmp_path / "out")


@pytest.fixture
def complete(lab: Laboratory, finished: Laboratory) -> Laboratory:
    """A laboratory of a test's own with the results of `finished`."""
    lab.out.mkdir()
    shutil.copy(finished.out / store.FILE_NAME, lab.out)
    return lab


@pytest.fixture
def half_done(complete: Laboratory) -> Laboratory:
    """A laboratory whose campaign was cut off after all but its last five lines."""
    cut_off(complete.out / store.FILE_NAME, -5)
    return complete


def holding_memory(path: Path, *options: str) -> Path:
    """The program that holds memory of the kind that its argument names."""
    text = (Path(__file__).parent / "machine" / "outside.c").read_text()
    return compiled(path, text, "-O1", "-pthread", *options)


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return holding_memory(tmp_path_factory.mktemp("coverage") / "outside")


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return holding_memory(tmp_path_factory.mktemp("coverage") / "static", "-static")


def running_program(folder: Path, name: str, *options: str, source: str = "") -> Path:
    """A program that is looked at while it runs."""
    text = (Path(__file__).parent / "running" / f"{source or name}.c").read_text()
    return compiled(folder / name, text, "-O1", "-pthread", *options)


@pytest.fixture(scope="session")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running_program(tmp_path_factory.mktemp("running"), "holding")


@pytest.fixture(scope="session")
def holding_static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running_program(tmp_path_factory.mktemp("running"), "holding_static", "-static", source="holding")


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running_program(tmp_path_factory.mktemp("running"), "guarded")


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running_program(tmp_path_factory.mktemp("running"), "served")


@pytest.fixture(scope="session")
def served_by_its_own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a malloc compiled in."""
    library = str(native.root() / "lib/libheaplab_llheap-stats.a")
    return running_program(tmp_path_factory.mktemp("running"), "served_by_its_own", library, source="served")


@pytest.fixture(scope="session")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running_program(tmp_path_factory.mktemp("running"), "waiting")


@pytest.fixture(scope="session")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module of redis."""
    folder = tmp_path_factory.mktemp("running")
    return running_program(folder, "forgetful.so", "-g", *SHARED, source="forgetful")


@pytest.fixture(scope="session")
def killing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running_program(tmp_path_factory.mktemp("running"), "killing.so", *SHARED, source="killing")
