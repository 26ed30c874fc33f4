"""Inputs of the servers, generated from a fixed seed; files that end in .in get the port of the run."""

import os
import random
import shutil
import subprocess
from glob import glob
from pathlib import Path
from typing import Any

from heaplab.errors import HeaplabError
from heaplab.programs.random_words import WORDS, sentence


def redis_commands(folder: Path) -> None:
    """commands: 30,000 commands that fill, extend and delete strings, lists and hashes."""
    draw, lines = random.Random(1), []
    for _ in range(30_000):
        key = draw.randrange(3000)
        lines.append(
            draw.choice(
                [
                    f"SET text:{key} '{sentence(draw, draw.randrange(1, 30))}'",
                    f"RPUSH list:{key} {draw.choice(WORDS)}",
                    f"HSET hash:{key} {draw.choice(WORDS)} {draw.randrange(1000)}",
                    f"APPEND text:{key} {draw.choice(WORDS)}",
                    f"DEL text:{key}",
                ]
            )
        )
    (folder / "commands").write_text("\n".join(lines) + "\n")


NGINX = """
daemon off;
worker_processes 2;
user root;
pid nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 100;
  default_type text/html;
  server {
    listen 127.0.0.1:{port};
    root site;
    ssi on;
    gzip on;
    gzip_comp_level 1;
    location = /health { return 200 "well\\n"; }
  }
}
"""


def nginx_site(folder: Path) -> None:
    """nginx.conf.in, and pages that each include eight parts: every request allocates for nine files."""
    draw, site = random.Random(1), folder / "site"
    site.mkdir()
    (folder / "nginx.conf.in").write_text(NGINX)
    for number in range(8):
        lines = [f"<p>{sentence(draw, 9)}</p>" for _ in range(number * 6 + 1)]
        (site / f"part{number}.html").write_text("\n".join(lines))
    parts = [f'<!--#include virtual="/part{number}.html" -->' for number in range(8)]
    (site / "index.html").write_text("\n".join(["<html><body>", *parts, "</body></html>"]))


def postgres_cluster(folder: Path) -> None:
    """data: an empty cluster, made by the owner of the folder, because the server refuses root."""
    installed = sorted(glob("/usr/lib/postgresql/*/bin/initdb"))
    program = installed[-1] if installed else shutil.which("initdb")
    if program is None:
        raise HeaplabError("no initdb, see Debian's package postgresql")
    options = ["--auth=trust", "--username=heaplab", "--no-sync", "--no-locale", "--encoding=UTF8"]
    owner: dict[str, Any] = {}
    if os.getuid() == 0:
        status = folder.stat()
        owner = {"user": status.st_uid, "group": status.st_gid, "extra_groups": []}
    made = subprocess.run(
        [program, "-D", "data", "--wal-segsize=1", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **owner,
    )
    if made.returncode != 0:
        raise HeaplabError(f"initdb: {made.stderr.strip().splitlines()[-1]}")


def empty_folder(_folder: Path) -> None:
    """An empty folder."""
