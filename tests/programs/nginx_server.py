"""An nginx server with two worker processes: pages put together, packed, uploaded, and a reload meanwhile."""

import hashlib
import http.client
import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from serving import connected_to, listens, serving, until

CONNECTIONS, REQUESTS = 8, 60  # each connection's requests, all on one connection

CONFIGURATION = """
user root;
daemon off;
worker_processes 2;
error_log stderr error;
pid nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  gzip on; gzip_types *; gzip_min_length 1; gzip_comp_level 6;
  client_max_body_size 4m;
  server {
    listen unix:socket;
    root site;
    location / { ssi on; ssi_types *; }
    location /put/ { dav_methods PUT; }
  }
}
"""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the socket of a folder."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = connected_to(self.path)


def site(folder: Path) -> None:
    """Pages of every size, and one that nginx puts together of them."""
    (folder / "site" / "put").mkdir(parents=True)
    for page in range(12):
        (folder / "site" / f"page{page}.html").write_text(f"{page * 7919} " * (1 << page))
    parts = "".join(f'<!--#include virtual="/page{page}.html" -->' for page in range(10))
    (folder / "site" / "whole.html").write_text(parts)
    (folder / "nginx.conf").write_text(CONFIGURATION)


def visit(folder: Path, visitor: int) -> Counter[str]:
    """Ask for pages, packed and not; count the answers by status and contents."""
    answers: Counter[str] = Counter()
    connection = UnixConnection(folder / "socket")
    for turn in range(REQUESTS):
        page = "whole" if turn % 5 == 0 else f"page{(turn + visitor) % 12}"
        packed = {"Accept-Encoding": "gzip"} if turn % 2 else {}
        connection.request("GET", f"/{page}.html", headers=packed)
        answer = connection.getresponse()
        digest = hashlib.sha256(answer.read()).hexdigest()
        answers[f"{page} {bool(packed)} {answer.status} {digest}"] += 1
    connection.close()
    return answers


def nginx(environment: dict[str, str], folder: Path) -> str:
    """Return every answer: half of them before the configuration is read anew, half after."""
    site(folder)
    command = ("nginx", "-p", ".", "-e", "stderr", "-c", "nginx.conf")
    answers: Counter[str] = Counter()
    with (
        serving(command, environment, folder, lambda: listens(folder / "socket")) as server,
        ThreadPoolExecutor(CONNECTIONS) as pool,
    ):
        for round_ in range(2):
            for seen in pool.map(lambda visitor: visit(folder, visitor), range(CONNECTIONS)):
                answers.update(seen)
            if round_ == 0:
                reload(folder, server.pid)
    return "\n".join(f"{count} {answer}" for answer, count in sorted(answers.items()))


def reload(folder: Path, leader: int) -> None:
    """Have nginx start new worker processes, and wait until there are others."""
    master = int((folder / "nginx.pid").read_text())
    children = Path(f"/proc/{master}/task/{master}/children")
    before = set(children.read_text().split())
    os.kill(master, signal.SIGHUP)
    until(lambda: not before & set(children.read_text().split()), f"nginx's reload (below process {leader})")
