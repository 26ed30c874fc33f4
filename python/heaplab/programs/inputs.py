"""Inputs of the real programs, generated from a fixed seed: the same bytes on every machine.

Each function fills an empty folder, in a second or two. A workload in the catalog names its function as
`input`; the arguments of the workload, and the commands of a server, name the files.
"""

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

from heaplab.errors import HeaplabError
from heaplab.programs.random_words import WORDS, sentence
from heaplab.programs.scripts import (
    job_shop,
    lua_script,
    perl_script,
    postscript_pages,
    python_script,
    sql_script,
)
from heaplab.programs.server_inputs import empty_folder, nginx_site, postgres_cluster, redis_commands
from heaplab.programs.shop_orders import json_orders, xml_orders

CXX_PART = """
struct node_{n} {{ int key; std::string name; std::vector<node_{n}> below; }};
template<class Visit> void walk(const node_{n}& node, Visit visit) {{
  visit(node.key, node.name);
  for (const auto& child : node.below) walk(child, visit);
}}
std::map<std::string, std::vector<int>> collect_{n}(const node_{n}& root) {{
  std::map<std::string, std::vector<int>> found;
  walk(root, [&](int key, const std::string& name) {{ found[name + "{word}"].push_back(key * {n}); }});
  for (auto& [name, keys] : found)
    std::sort(keys.begin(), keys.end(), [](int a, int b) {{ return a % {m} < b % {m}; }});
  return found;
}}
"""


def cxx_unit(folder: Path) -> None:
    """unit.cpp: records with containers of the standard library, and a template for each record."""
    parts = [CXX_PART.format(n=n, m=n + 7, word=WORDS[n % len(WORDS)]) for n in range(6)]
    includes = "".join(f"#include <{name}>\n" for name in ("algorithm", "map", "string", "vector"))
    (folder / "unit.cpp").write_text(includes + "".join(parts))


def git_history(folder: Path) -> None:
    """A bare repository: 800 commits to 40 text files, unpacked from one stream."""
    draw, stream, at = random.Random(1), [], 1_600_000_000
    files = {f"part{n % 5}/file{n}.txt": [sentence(draw, 8) for _ in range(150)] for n in range(40)}
    for number in range(800):
        changed = files if number == 0 else draw.sample(sorted(files), 3)
        message = sentence(draw, 9)
        stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {at + number * 60} +0000\n")
        stream.append(f"data {len(message)}\n{message}\n")
        for name in changed:
            for _ in range(4 if number else 0):
                files[name][draw.randrange(len(files[name]))] = sentence(draw, 8)
            text = "\n".join(files[name]) + "\n"
            stream.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
    run_git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    run_git(folder, "fast-import", "--quiet", stream="".join(stream))


def run_git(folder: Path, *words: str, stream: str = "") -> None:
    plain = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": "."}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | plain
    try:
        subprocess.run(
            ["git", *words],
            cwd=folder,
            env=environment,
            input=stream.encode(),
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise HeaplabError(f"git {words[0]}: {error}") from error


INPUTS: dict[str, Callable[[Path], None]] = {
    maker.__name__: maker
    for maker in (
        xml_orders,
        json_orders,
        cxx_unit,
        sql_script,
        python_script,
        perl_script,
        lua_script,
        job_shop,
        postscript_pages,
        git_history,
        redis_commands,
        nginx_site,
        postgres_cluster,
        empty_folder,
    )
}
