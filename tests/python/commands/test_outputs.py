"""One rule for all that is written: a file in a folder that is there, a folder whose parent is there."""

from pathlib import Path

import click
import pytest
from laboratory import COMMANDS, Laboratory, call, refusal, success

from heaplab.options.option_types import OutputFile, OutputFolder

# What commands read, also where they add to what they find.
READS = {"results", "resume", "source", "trace_file", "new", "again", "plan", "folder", "file", "own"}
READS |= {"repository", "wheels", "baseline"}
NAMES_OF_OUTPUTS = {"-o", "--output", "--junit", "--markdown", "--bencher"}
PARAMETERS = [(name, param) for name, command in COMMANDS.items() for param in command.params]
OUTPUTS = [
    (name, parameter)
    for name, parameter in PARAMETERS
    if isinstance(parameter.type, OutputFile | OutputFolder)
]


def says_that_it_writes(option: click.Parameter) -> bool:
    told = (option.help or "").split()[:1] if isinstance(option, click.Option) else []
    return told == ["Write"] and not getattr(option, "is_flag", False)


def test_every_option_that_writes_has_one_of_two_types() -> None:
    for name, parameter in PARAMETERS:
        if NAMES_OF_OUTPUTS & set(parameter.opts) or says_that_it_writes(parameter):
            assert isinstance(parameter.type, OutputFile | OutputFolder), (name, parameter.opts)
        elif isinstance(parameter.type, click.Path):
            assert parameter.name in READS, (name, parameter.opts)
    written = {"record", "trace", "report", "gate", "cluster plan", "atlas", "tune"}
    assert written <= {name for name, _ in OUTPUTS}


@pytest.mark.parametrize(("name", "option"), [(name, parameter.opts[0]) for name, parameter in OUTPUTS])
def test_a_missing_folder_is_named_and_not_made(tmp_path: Path, name: str, option: str) -> None:
    given = [option, str(tmp_path / "misspelt" / "new")]
    with pytest.raises(click.BadParameter, match=f"misspelt/new: there is no folder {tmp_path}/misspelt"):
        COMMANDS[name].make_context(name, given)  # calls no command
    assert not any(tmp_path.iterdir())


def test_a_budget_is_written_into_a_folder_that_is_there(tmp_path: Path) -> None:
    words = ("budget", tmp_path / "misspelt" / "x.toml", "--update", "--", "true")
    said = f"heaplab: {tmp_path}/misspelt/x.toml: there is no folder {tmp_path}/misspelt\n"
    assert refusal(call(*words)) == said
    assert not any(tmp_path.iterdir())


def test_a_results_folder_is_made_and_out_with_it(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(lab.run("-o", "out/deep/folder"))
    assert not Path("out").exists()
    success(lab.run("-o", "out/here"))
    assert Path("out/here/results.jsonl").is_file()
