"""What `heaplab cluster` does: a plan of shards that any engine can carry out, and what came back.

A *plan* is a folder. Its file `plan.json` says what is measured, on which kinds of machine, in which
*shards*: whole blocks on one node, because a comparison never crosses machines. A shard is a campaign like
any other, whose results file lies in `results/` and begins with the facts of its node. What is complete,
begun or missing follows from these files alone, so that no engine has to be asked.
"""

from heaplab.cluster.plan_folder import Plan, read_plan
from heaplab.cluster.shard_states import Completion, ShardState, shard_states
