"""`trim=60s`: the thread that calls malloc_trim, in each process of an arm; what is said of its cost."""

from pathlib import Path

import pytest
from laboratory import WARM, Laboratory, refusal, success
from subprocesses import SHARED, compiled

from heaplab.machine.trimming import BY_THE_CLOCK

# The parent waits for two calls, the child for its own thread, which it has by a handler of fork alone. What
# waits in vain is ended by the limit of the run.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int lines(void) {
  int found = 0, next;
  FILE* const file = fopen(getenv("HEAPLAB_TRIM_COSTS"), "r");
  while ((next = getc(file)) != EOF) found += next == '\\n';
  fclose(file);
  return found;
}
int main(void) {
  for (int i = 0; i < 1000; ++i) free(malloc(1000 + i));
  if (getenv("HEAPLAB_TRIM") == NULL) return usleep(100000);
  for (const int before = lines(); lines() < before + 2;) usleep(1000);
  int status;
  const pid_t child = fork();
  if (child == 0) {
    char tasks[16];
    do {  // 2 if the child has a thread of its own
      FILE* const pipe = popen("ls /proc/$PPID/task | wc -l", "r");
      if (fgets(tasks, sizeof tasks, pipe) == NULL) return 2;
      pclose(pipe);
    } while (atoi(tasks) < 2);
    return 0;
  }
  return waitpid(child, &status, 0) != child || status != 0;
}
"""


@pytest.mark.starts_programs
@pytest.mark.parametrize("base", ["glibc", "scalloc"])
def test_each_process_has_the_thread_and_its_cost_is_shown(
    lab: Laboratory, tmp_path: Path, base: str
) -> None:
    program = compiled(tmp_path / "program", PROGRAM, "-O1")
    arm = ("--allocators", base, "--allocator", f"trimmed={base} trim=1ms")
    words = (*WARM, "--budget", "60s", "--precision", "60%", "-o", lab.out, *arm, "--", program)
    printed = " ".join(success(lab.heaplab("compare", *words)).split())
    assert "trimmed called malloc_trim " in printed
    assert "One arm ran after the other, because " in printed  # a busy machine gives other reasons as well
    runs = [run for run in lab.results().runs if run.status == "ok"]
    assert {run.allocator for run in runs if run.trims} == {"trimmed"}
    assert all(run.trims.calls >= 2 for run in runs if run.trims)
    assert all(0 < run.trims.longest <= run.trims.wall_time for run in runs if run.trims)
    behaviours = [run.behaviour for run in runs if run.trims and run.behaviour]
    assert all(BY_THE_CLOCK in behaviour.oddities for behaviour in behaviours)


def test_a_malloc_without_malloc_trim_is_void(lab: Laboratory, tmp_path: Path) -> None:
    library = compiled(tmp_path / "libnone.so", "void* malloc(unsigned long n) { return 0; }", *SHARED)
    words = ("--allocator", f"a={library} trim=60s", "--allocators", "glibc", "--", "true")
    printed = refusal(lab.heaplab("compare", *words))
    assert "libnone.so has no malloc_trim, so trim= would do nothing" in printed


@pytest.mark.parametrize("text", ["0", "often", "2000000s"])
def test_what_is_no_interval_is_refused(lab: Laboratory, text: str) -> None:
    words = ("compare", "--allocator", f"a=glibc trim={text}", "--", "true")
    assert f"trim={text} is no time from 1ms to 1000000s, such as trim=60s" in refusal(lab.heaplab(*words))
