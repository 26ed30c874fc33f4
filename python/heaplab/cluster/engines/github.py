"""A matrix of hosted runners: a workflow with a job for each shard, and a job that merges the results."""

import json

from heaplab.cluster.plan_folder import RESULTS, Plan
from heaplab.errors import UsageError

JOBS_MOST = 256  # jobs of a matrix
RUNNER = "runner"  # the option of a kind of machine in the plan
ANY_RUNNER = "ubuntu-latest"

TEXT = """\
# Carries out the shards of a heaplab plan, one a job, and merges what they measured.
# The folder of the plan belongs in this repository.
name: heaplab plan
on: workflow_dispatch
permissions:
  contents: read
env:
  PLAN: {plan}
jobs:
  shard:
    strategy:
      fail-fast: false
      matrix:
        include:
{jobs}
    runs-on: ${{{{ matrix.runner }}}}
    steps:
      - uses: actions/checkout@v4
      - run: |
          "./$PLAN/run" "${{{{ matrix.shard }}}}/{count}"
      - if: always()
        uses: actions/upload-artifact@v4
        with:
          name: heaplab-shard-${{{{ matrix.shard }}}}
          path: ${{{{ env.PLAN }}}}/{results}
  merge:
    needs: shard
    if: always()
    runs-on: {any_runner}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/download-artifact@v4
        with:
          pattern: heaplab-shard-*
          path: ${{{{ env.PLAN }}}}/{results}
          merge-multiple: true
      - run: |
          if [ -d "$PLAN/bundle/wheels" ]; then
            python3 -m venv "$RUNNER_TEMP/heaplab"
            PATH=$RUNNER_TEMP/heaplab/bin:$PATH
            pip install --quiet --no-index --find-links "$PLAN/bundle/wheels" heaplab
          fi
          heaplab cluster merge "$PLAN" -o heaplab-report
      - if: always()
        uses: actions/upload-artifact@v4
        with:
          name: heaplab-report
          path: |
            heaplab-report
            ${{{{ env.PLAN }}}}/{results}
"""


def text(plan: Plan) -> str:
    if len(plan.shards) > JOBS_MOST:
        raise UsageError(
            f"github: {len(plan.shards)} shards are outside 1 to {JOBS_MOST}, the jobs of a matrix; "
            "plan fewer shards of more blocks"
        )
    runners = {kind: of.options.get(RUNNER, ANY_RUNNER) for kind, of in plan.machines.items()}
    jobs = [
        f"          - {{ shard: {shard.index}, runner: {json.dumps(runners[shard.machine])} }}"
        for shard in plan.shards
    ]
    return TEXT.format(
        plan=json.dumps(in_repository(plan)),
        jobs="\n".join(jobs),
        count=len(plan.shards),
        results=RESULTS,
        any_runner=ANY_RUNNER,
    )


def in_repository(plan: Plan) -> str:
    """The path of the plan in its repository; its name if the plan lies in no repository."""
    folder = plan.folder.resolve()
    root = next((above for above in folder.parents if (above / ".git").exists()), folder.parent)
    return folder.relative_to(root).as_posix()
