"""The walks through malloc and free in DESIGN.md and the frontend name functions that call each other."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCALLOC = ROOT / "src/allocators/scalloc"
STEP = re.compile(r"^((?:  )*)(\w+) +([\w/]+[.]h)(?: |$)")
COMMENT = re.compile(r"//[^\n]*")
# What may stand between the parameters of a function and its body.
BEFORE_BODY = re.compile(r"\s*(?:const|noexcept|requires\([^()]*\)|->[\s\w:<>]+|\s)*\{")


@dataclass(frozen=True)
class Step:
    depth: int
    name: str
    file: str

    @property
    def path(self) -> Path:
        return ROOT / self.file if "/" in self.file else next(SCALLOC.rglob(self.file))


def walk_of(lines: list[str]) -> list[Step]:
    found = [STEP.match(line) for line in lines]
    return [Step(len(match[1]) // 2, match[2], match[3]) for match in found if match]


def walk_of_design() -> list[Step]:
    (block,) = re.findall(r"```\n(malloc .*?)```", (SCALLOC / "DESIGN.md").read_text(), re.DOTALL)
    return walk_of(block.splitlines())


def walk_of_frontend() -> list[Step]:
    heads = [
        (SCALLOC / "frontend" / file).read_text().partition("#pragma once")[0]
        for file in ("allocation.h", "freeing.h")
    ]
    return walk_of([line.removeprefix("//   ") for line in "".join(heads).splitlines()])


def end_of(text: str, begin: int, opening: str, closing: str) -> int:
    """Where the bracket that opens at `begin` has been closed."""
    depth = 0
    for place in range(begin, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place + 1
    return len(text)


def bodies_of(step: Step) -> list[str]:
    """Of every overload of a function in its file."""
    text = COMMENT.sub("", step.path.read_text())
    bodies = []
    for name in re.finditer(rf"\b{step.name}\(", text):
        body = BEFORE_BODY.match(text, end_of(text, name.end() - 1, "(", ")"))
        if body:
            bodies.append(text[body.end() : end_of(text, body.end() - 1, "{", "}")])
    return bodies


def calls(body: str, name: str) -> bool:
    return re.search(rf"\b{name}(?:<[\w:]+>)?\(", body) is not None


def faults_of(walk: list[Step]) -> list[str]:
    faults, above = [], list[Step]()
    for step in walk:
        del above[step.depth :]
        if not bodies_of(step):
            faults.append(f"{step.name} is not defined in {step.file}")
        if above and not any(calls(body, step.name) for body in bodies_of(above[-1])):
            faults.append(f"{above[-1].name} in {above[-1].file} does not call {step.name}")
        above.append(step)
    return faults


def test_the_walk_from_malloc_and_free_to_the_frontend_is_that_of_the_code() -> None:
    walk = walk_of_design()
    assert [step.name for step in walk if step.depth == 0] == ["malloc", "free"]
    assert faults_of(walk) == []


def test_the_walk_through_the_frontend_is_that_of_the_code() -> None:
    walk = walk_of_frontend()
    assert len(walk) > 30
    assert faults_of(walk) == []


def test_one_walk_begins_where_the_other_ends() -> None:
    frontend = {step.file for step in walk_of_frontend() if step.depth == 0}
    ends = {(step.name, step.file) for step in walk_of_design() if step.file in frontend}
    assert ends == {(step.name, step.file) for step in walk_of_frontend() if step.depth == 0}
