"""A redis server under load, and what it then holds."""

from pathlib import Path

from serving import call, client, listens, serving, until

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


COMMAND = ("redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--dir", ".")


def redis(environment: dict[str, str], folder: Path) -> str:
    """Return what the server holds and whether it saved it in a fork."""
    around = client(environment)

    def cli(*words: str) -> str:
        return call(around, folder, "redis-cli", "-s", "socket", *words)

    # A path of a socket holds 107 characters: the server gets it relative to its folder.
    with serving(COMMAND, environment, folder, lambda: listens(folder / "socket")):
        call(around, folder, "redis-benchmark", "-s", "socket", *LOAD)
        contents = cli("eval", SCRIPT, "0")
        cli("bgsave")
        until(lambda: "rdb_bgsave_in_progress:0" in cli("info", "persistence"), "the save of redis-server")
        state = cli("info", "persistence")
        saved = [line.strip() for line in state.splitlines() if "rdb_last_bgsave_status" in line]
        cli("flushall")
        return f"{contents}{saved}"
