"""What `heaplab trace` does with a file of samples: its snapshots on the terminal, and in other forms."""

from pathlib import Path

from heaplab.errors import UsageError
from heaplab.screen.console import console
from heaplab.screen.exit_status import DAMAGED, DONE
from heaplab.screen.notes import note
from heaplab.text.units import counted
from heaplab.traces.profile import Profile
from heaplab.traces.sample_file import SampleFile, Snapshot, file_and_number, is_sample
from heaplab.tracing import sample_terminal
from heaplab.tracing.sampled_callers import SampledMoment, moment_of

ProcessKey = tuple[int, int]


def moments_of(place: Path, process: int | None) -> tuple[list[SampledMoment], bool]:
    """The snapshots of a process up to the named or last one, and whether the file is whole.

    Raises UsageError if there is no such snapshot or process.
    """
    file, looks = looks_of(place, process)
    return [moment_of(file.path, file.head, *look) for look in looks], not file.damage


def looks_of(place: Path, process: int | None) -> tuple[SampleFile, list[tuple[Snapshot, int]]]:
    """The same without names: snapshots, and the number of the process in each."""
    path, number = file_and_number(place)
    file = SampleFile(path)
    snapshots: list[Snapshot] = []
    for snapshot in file.snapshots():
        if number is None or len(snapshots) < number:
            snapshots.append(snapshot)
    if not snapshots or (number is not None and not 0 < number <= len(snapshots)):
        raise UsageError(f"{place}: the file has {len(snapshots)} snapshots")
    if file.damage:
        note(f"{path}: {file.damage}")
    return file, of_process(path, snapshots, process)


def of_process(path: Path, snapshots: list[Snapshot], process: int | None) -> list[tuple[Snapshot, int]]:
    last = snapshots[-1]
    if process is not None and process >= len(last.processes):
        raise UsageError(f"--process {process}: {path} has processes 0 to {len(last.processes) - 1}")
    if not last.processes:
        raise UsageError(f"{path}: holds no process")
    number = max(range(len(last.processes)), key=lambda place: last.processes[place].acquired.bytes)
    key = key_of(last, number if process is None else process)
    numbered = ((snapshot, number) for snapshot in snapshots for number in range(len(snapshot.processes)))
    return [each for each in numbered if key_of(*each) == key]


def key_of(snapshot: Snapshot, number: int) -> ProcessKey:
    process = snapshot.processes[number]
    return process.pid, process.begin_ns


def is_of_samples(place: Path) -> bool:
    return is_sample(file_and_number(place)[0])


def show(place: Path, process: int | None) -> int:
    moments, is_whole = moments_of(place, process)
    if unnamed := moments[-1].profile.without_names:
        note(f"{place}: {unnamed}")
    sample_terminal.print_moment(moments, console())
    return DONE if is_whole else DAMAGED


def compare(old: Path, new: Path, process: int | None) -> int:
    (before, first_whole), (after, last_whole) = (moments_of(place, process) for place in (old, new))
    sample_terminal.print_changes(before[-1], after[-1], console())
    return DONE if first_whole and last_whole else DAMAGED


def profile(place: Path, process: int | None) -> tuple[Profile, int]:
    """The last snapshot as a profile, for other programs, and the exit status."""
    moments, is_whole = moments_of(place, process)
    return moments[-1].profile, DONE if is_whole else DAMAGED


def totals(path: Path) -> str:
    """The file in one line."""
    file, looks = looks_of(path, None)
    return f"{counted(len(looks), 'snapshot')}; {sample_terminal.headline(file.head, *looks[-1])}"
