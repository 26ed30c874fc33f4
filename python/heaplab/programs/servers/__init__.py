"""Programs that serve until they are told to end: started fresh, driven by clients, examined as a whole.

`readers` parse the output of load generators; `client` runs the commands beside a server; `server_watch`
samples the server's processes; `server_run` is the life of one server; `server_metrics` turns the
observations into metrics.
"""

from heaplab.programs.servers.client import free_port, port_of
from heaplab.programs.servers.server_run import ServedRun, ServerJob, serve
