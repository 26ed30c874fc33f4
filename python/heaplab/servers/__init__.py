"""Programs that serve until they are told to end: started fresh, driven from outside, looked at as a whole.

`readers` read what load generators write; `client` runs the commands beside a server; `server_watch` looks at
its processes; `server_run` is the life of one server; `server_metrics` makes metrics of what was seen.
"""

from heaplab.servers.client import free_port, port_of
from heaplab.servers.server_run import ServedRun, ServerJob, serve

__all__ = ["ServedRun", "ServerJob", "free_port", "port_of", "serve"]
