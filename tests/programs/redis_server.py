"""A redis server under load, and what it then holds."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

LIMIT_S = 60
LOAD = ("-q", "-n", "10000", "-c", "20", "-d", "100", "-r", "1000", "-t", "set,get,lpush,lpop,hset,sadd,zadd")

# Deterministic contents: strings that grow, a list, a hash; then half of it goes.
SCRIPT = """
for i = 1, 3000 do
  redis.call('append', 'mine:' .. i % 700, string.rep('x', i % 90))
  redis.call('rpush', 'mine:list', 'element ' .. i)
  redis.call('hset', 'mine:hash', 'field ' .. i, string.rep('y', i % 200))
end
for i = 0, 300 do redis.call('del', 'mine:' .. i) end
redis.call('ltrim', 'mine:list', 100, 1900)
return {redis.sha1hex(table.concat(redis.call('lrange', 'mine:list', 0, -1))),
        redis.sha1hex(redis.call('get', 'mine:500')), redis.call('hlen', 'mine:hash')}
"""


@contextlib.contextmanager
def server(environment: dict[str, str], folder: Path) -> Iterator[Path]:
    """Serve on a socket in `folder`; end with the block, whatever happens in it."""
    # A path of a socket holds 107 characters: the server gets it relative to its folder.
    # timeout(1) ends it even if nobody is left to do so.
    command = [
        "timeout",
        "300",
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        "socket",
        "--save",
        "",
        "--dir",
        ".",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
    try:
        end = time.monotonic() + LIMIT_S
        while not (folder / "socket").exists():
            if process.poll() is not None or time.monotonic() > end:
                raise OSError(f"redis-server does not serve:\n{(folder / 'log').read_text()}")
            time.sleep(0.02)
        yield folder
    finally:
        process.terminate()
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def redis(environment: dict[str, str], folder: Path) -> str:
    """Return what the server holds and whether it saved it in a fork; clients run without the library."""
    client = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}

    def call(program: str, *arguments: str) -> str:
        command = [program, "-s", "socket", *arguments]
        done = subprocess.run(
            command, env=client, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        if done.returncode != 0:
            raise OSError(f"{program}: exit status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    with server(environment, folder):
        call("redis-benchmark", *LOAD)
        contents = call("redis-cli", "eval", SCRIPT, "0")
        call("redis-cli", "bgsave")
        end = time.monotonic() + LIMIT_S
        while "rdb_bgsave_in_progress:1" in (state := call("redis-cli", "info", "persistence")):
            if time.monotonic() > end:
                raise OSError("redis-server does not finish its save")
            time.sleep(0.05)
        saved = [line.strip() for line in state.splitlines() if "rdb_last_bgsave_status" in line]
        call("redis-cli", "flushall")
        return f"{contents}{saved}"
