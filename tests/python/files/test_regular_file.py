"""What is no file, or a file beyond all measure, is refused in one line wherever a user may name one."""

import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from laboratory import call, refusal, success

from heaplab.catalog.locate import ObtainedLibrary
from heaplab.cluster.engines import ssh
from heaplab.cluster.shard_states import kind_of
from heaplab.errors import UsageError
from heaplab.results import store

DEEP = "[" * 100_000
HOSTILE_TOML = {
    "a = " + DEEP: "is nested too deeply",
    "a = " + "1" * 100_000: "not TOML: Exceeds the limit",
    ".".join("a" * 50_000) + " = 1": "a line with more than 1000 dots",
    "#" * (17 << 20): "is larger than 16 MiB",
    "a = \udcff": "not TOML: 'utf-8' codec",
}
NO_FILE: dict[str, Callable[[Path], None]] = {
    "pipe": lambda path: os.mkfifo(path, 0o755),
    "folder": lambda path: path.mkdir(),
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize(("content", "message"), HOSTILE_TOML.items(), ids=range(len(HOSTILE_TOML)))
def test_hostile_toml_is_named(tmp_path: Path, content: str, message: str) -> None:
    for place, words in (
        ("allocators/x.toml", ["--catalog", tmp_path, "show", "allocators"]),
        ("budget.toml", ["budget", tmp_path / "budget.toml", "--", "true"]),
        ("plan.toml", ["cluster", "plan", tmp_path / "plan.toml", "-o", tmp_path / "plan"]),
        ("known.toml", ["check", "--deviations", tmp_path / "known.toml", "glibc"]),
    ):
        file = tmp_path / place
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(os.fsencode(content))
        assert refusal(call(*words)).startswith(f"heaplab: {file}: {message}")
        file.unlink()


@pytest.mark.parametrize("kind", NO_FILE)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("allocators/x.toml", ["--catalog", ".", "show", "allocators"]),
        ("budget.toml", ["budget", "budget.toml", "--", "true"]),
        ("plan.toml", ["cluster", "plan", "plan.toml", "-o", "plan"]),
        ("results.jsonl", ["report", "results.jsonl"]),
        ("x.trace", ["trace", "x.trace"]),
        ("x.trace", ["advise", "x.trace"]),
        ("x.trace", ["compare", "x.trace"]),
        ("program", ["with", "glibc", "--", "./program"]),
        ("program", ["compare", "--arm", "a=./program", "--arm", "b=true"]),
        ("p/plan.json", ["cluster", "merge", "p"]),
        ("words", ["compare", "--input", "words", "--", "sort"]),
        ("x.heaptrack", ["trace", "x.heaptrack", "-o", "y.trace"]),
    ],
)
def test_what_is_no_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: list[str], kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    NO_FILE[kind](Path(name))
    assert name in refusal(call(*words))


def test_results_beyond_measure_are_refused_before_they_are_read(tmp_path: Path) -> None:
    with (tmp_path / "results.jsonl").open("wb") as stream:
        stream.truncate(store.LARGEST + 1)
    assert refusal(call("report", tmp_path)).endswith("results.jsonl: is larger than 4096 MiB\n")


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="hosts: no text in UTF-8"):
        ssh.named_hosts(str(tmp_path / "hosts"))


@pytest.mark.parametrize(("name", "words"), [("results.jsonl", "report"), ("plan.json", "cluster merge")])
@pytest.mark.parametrize("content", [DEEP, '{"kind":' * 100_000, "1" * 100_000])
def test_hostile_json_is_refused(tmp_path: Path, name: str, words: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert str(tmp_path / name) in refusal(call(*words.split(), tmp_path))


def test_hostile_json_in_heaplabs_own_files_says_nothing(tmp_path: Path) -> None:
    for content in (DEEP, "1" * 100_000):
        (tmp_path / "obtained.json").write_text(content)
        assert ObtainedLibrary.beside(tmp_path) is None
        assert kind_of(content.encode()) == ""


def test_results_packed_by_xz_are_read_as_they_were(tmp_path: Path) -> None:
    plain = synthetic.write(synthetic.campaign(), tmp_path / "results.jsonl")
    packed, cut = tmp_path / "packed.jsonl.xz", tmp_path / "cut.jsonl.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    table = ("--form", "table")
    assert success(call("report", packed, *table)) == success(call("report", plain, *table))
    cut.write_bytes(packed.read_bytes()[:-100])
    assert f"{cut}: cannot be unpacked: " in refusal(call("report", cut, *table))
