"""Writes a table into the one comment that heaplab has on a pull request, or begins that comment.

Runs after the gate, in a workflow of the repository itself, because the gate of a fork's pull request may
write nothing. The pull request is found by what GitHub says of the gate's run, not by what the gate left: a
fork decides over that. Its table is shown, and notifies nobody. Needs Python's standard library alone.
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

LONGEST = 60_000  # characters of a table; GitHub takes 65,536 in a comment
NO_TABLE = "**heaplab gate** left no table."
PAGE = 100  # comments that GitHub returns at once


def ask(method: str, path: str, content: dict[str, str] | None = None) -> Any:
    """What GitHub answers about a path of this repository. Raises HTTPError."""
    request = urllib.request.Request(
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        method=method,
        data=json.dumps(content).encode() if content else None,
        headers={"Authorization": f"Bearer {os.environ['TOKEN']}", "Accept": "application/vnd.github+json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def pull_request_of(run: dict[str, Any]) -> int | None:
    """The open pull request whose head the gate's run measured; None if it has moved on, or is closed."""
    if not run["head_repository"]:  # a fork that is gone
        return None
    head = f"{run['head_repository']['owner']['login']}:{run['head_branch']}"
    found = ask("GET", f"pulls?{urllib.parse.urlencode({'state': 'open', 'head': head})}")
    return next((each["number"] for each in found if each["head"]["sha"] == run["head_sha"]), None)


def comment_of(number: int, mark: str) -> int | None:
    """The comment of a workflow, not of a person, that begins with the mark."""
    page = 1
    while found := ask("GET", f"issues/{number}/comments?per_page={PAGE}&page={page}"):
        for each in found:
            if each["user"]["type"] == "Bot" and each["body"].startswith(mark):
                return int(each["id"])
        page += 1
    return None


def main() -> None:
    run = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))["workflow_run"]
    number = pull_request_of(run)
    if number is None:
        print(f"::notice::no open pull request has {run['head_sha']} as its head: nothing is written")
        return
    mark = f"<!-- heaplab: {os.environ['NAME']} -->"
    left = Path(os.environ["TABLE"])
    table = NO_TABLE
    if left.is_file() and not left.is_symlink():  # a link could lead to the token of this job
        table = left.read_text(encoding="utf-8", errors="replace")[:LONGEST]
    where = f"Measured at {run['head_sha']}: [the run]({run['html_url']})"
    body = f"{mark}\n{table.replace('@', '&#64;')}\n\n{where}\n"
    known = comment_of(number, mark)
    place = f"issues/comments/{known}" if known else f"issues/{number}/comments"
    ask("PATCH" if known else "POST", place, {"body": body})
    print(f"pull request {number}: comment {'updated' if known else 'written'}")


if __name__ == "__main__":
    try:
        main()
    except (urllib.error.URLError, OSError) as error:
        print(f"::error::the comment is not written: {error}")
        sys.exit(1)
