"""What carries out the shards of a plan on other machines, one small adapter for each: see `engine.Engine`.

On a node, an engine starts one command, `PLAN/run I/N`, which finds or unpacks heaplab there. Results
files, never the engine, tell which shards are done. The engine only tells which of the others it holds.

`slurm.py` asks Slurm; `ssh.py` and `local.py` start a worker (`worker.py`) on each host of a list, or on this
machine; `reframe.py` and `github.py` write what another tool carries out.
"""

from heaplab.cluster.engines import github, reframe
from heaplab.cluster.engines.engine import Engine, Form, Submission
from heaplab.cluster.engines.local import Local
from heaplab.cluster.engines.slurm import Slurm
from heaplab.cluster.engines.ssh import Ssh

ENGINES: dict[str, Engine] = {"slurm": Slurm(), "ssh": Ssh(), "local": Local()}
FORMS: dict[str, Form] = {"reframe": reframe.text, "github": github.text}
