"""The file `run-shard` in a plan: it finds or unpacks heaplab on a node, and carries out one shard there."""

import shlex
import sys
from importlib import resources

from heaplab.cluster.plan_folder import Plan
from heaplab.errors import HeaplabError

FILE_NAME = "run-shard"


def write(plan: Plan) -> None:
    template = resources.files("heaplab.cluster").joinpath("run-shard.sh").read_text(encoding="utf-8")
    path = plan.folder / FILE_NAME
    try:
        path.write_text(
            template.replace("@BUNDLE@", plan.file.bundle).replace("@PYTHON@", shlex.quote(sys.executable)),
            encoding="utf-8",
        )
        path.chmod(0o755)
    except OSError as error:
        raise HeaplabError(f"{path}: {error.strerror}") from error
