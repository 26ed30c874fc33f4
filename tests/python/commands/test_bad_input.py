"""Wrong usage is one line that names the thing, and exit status 2."""

from pathlib import Path

import pytest
from laboratory import Laboratory, failure, refusal

NOTHING_TO_COMPARE = "glibc alone: there is nothing to compare it with"


ONE = ("compare", "--experiment", "fake/one")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "--experiment", ""], "'--experiment': no name given"),
        ([*ONE, "ls"], "--experiment excludes --suite, a program"),
        (["compare", "--scale", "full"], "--scale goes with --experiment"),
        (["compare", "--all-publications", "--", "ls"], "--all-publications takes no program"),
        (["report"], "report: name results files"),
        (["report", "out", "--what", "runs"], "--what goes with the form table, not with page"),
        (["report", "out", "--json"], "--json goes with the forms power and claims, not with page"),
        (["report", "out", "--form", "power", "-o", "x"], "-o goes with the forms page and table"),
        (["cluster"], "heaplab: Missing command."),
        (["cluster", "status", "plan"], "Missing option '--on'. Choose from: slurm, ssh, local"),
        (["atlas"], "atlas: name results, or give --nightly"),
        (["atlas", "out", "--pinned"], "--pinned goes with --nightly"),
        (["atlas", "--nightly", "out"], "--nightly measures, it reads no results: out"),
        (["compare", "--experiment", "nothing/*"], "no experiment 'nothing/*'"),
        ([*ONE, "--allocators", "glibc,nothing"], "no allocator 'nothing'; known: "),
        ([*ONE, "--budget", "0"], "--budget': 0 is outside 0.001s to 31536000s, or auto\n"),
        (
            [*ONE, "--budget", "Auto"],
            "'Auto' is not a duration (2s, 200ms, 5m); allowed is 0.001s to 31536000s, or auto\n",
        ),
        (["record", "--sample", "1MiB", "--at", "high", "--", "ls"], ", or memory.high\n"),
        ([*ONE, "--precision", "150%"], "'150%' is no percentage between 0 and 100"),
        (
            [*ONE, "--time-limit", "9" * 400],
            "' is not a duration (2s, 200ms, 5m); allowed is 0.1s to 31536000s",
        ),
        ([*ONE, "--time-limit", "1ms"], "1ms is outside 0.1s to "),
        ([*ONE, "--memory-limit", "2KB"], "'2KB' is not a size (64, 8KiB, 2GB); allowed is 1MiB to "),
        ([*ONE, "--memory-limit", "1"], "1 is outside 1MiB to "),
        (["record", "--trace-limit", "1B", "--", "ls"], "1B is outside 64KiB to "),
        ([*ONE, "--warm", "999TiB"], "--warm': 999TiB is outside 1 to "),
        ([*ONE, "--warm", "0.1B"], "0.1B is outside 1 to "),
        ([*ONE, "--seed", "1e30"], "'1e30' is no whole number from 0 to 9223372036854775807"),
        ([*ONE, "--seed", str(1 << 63)], "is no whole number from 0 to 9223372036854775807"),
        ([*ONE, "--seed", "-1"], "'-1' is no whole number from 0 to "),
        ([*ONE, "-o", ""], "'-o' / '--output': the name is empty"),
        ([*ONE, "-o", "/etc/passwd"], "'-o' / '--output': Directory '/etc/passwd' is a file"),
        ([*ONE, "-o", "/dev/null"], "/dev/null is no folder that can be written to"),
        ([*ONE, "-o", "/etc/passwd/x"], "/etc/passwd is no folder that can be written to"),
        (
            ["gate", "glibc", "glibc", "--junit", "/etc/passwd/x.xml"],
            "/etc/passwd is no folder that can be written to",
        ),
        (["report", "out", "-o", "/etc/passwd/x.html"], "/etc/passwd is no folder that can be written to"),
        (["compare", "--allocators", "glibc,glibc", "--", "ls"], "--allocators: glibc is named twice"),
        (["compare", "-q", "--allocators", "glibc", "--", "ls"], NOTHING_TO_COMPARE),
        (["compare", "--suite", "fake", "--allocators", "glibc"], NOTHING_TO_COMPARE),
        (
            ["compare", "--allocator", "x=glibc NO_SUCH=1", "--", "ls"],
            "nothing to compare glibc with: x is void: ",
        ),
        (["compare", "-q", "--arm", "a=false", "--arm", "b=true"], "a: exit status 1; it is the baseline"),
        (["gate", "glibc", "nosuch", "--", "ls"], "'nosuch' is no allocator, no library and no program"),
        ([*ONE, "--resume", ""], "'--resume': the name is empty"),
        ([*ONE, "--allocator", "mine"], "'mine': it is not NAME=LIBRARY"),
        ([*ONE, "--allocator", "mine=/no/such.so"], "/no/such.so: no such file"),
        ([*ONE, "--allocator", "glibc=/no/such.so"], "the name is taken"),
        ([*ONE, "--nonsense"], "No such option"),
        (["compare", "--suite", "nothing"], "no suite 'nothing'; known: "),
        (["compare", "--suite", "fake", "ls"], "exclude each other: ls"),
        (["compare", "--suite", "", "ls"], "exclude each other"),
        (["compare", "--suite", ""], "no suite ''; known: "),
        (["compare", "--allocators", ""], "--allocators: no name given"),
        (["compare", "--"], "compare: there is no program behind --"),
        (["compare", "--input", "", "--", "ls"], "'--input': the name is empty"),
        (["compare", "--input", "no-\udcff", "--", "ls"], "no-\\xff: No such file"),
        (["path", "a\udcff"], "no program, library or allocator 'a\\xff'"),
        (["trace", "a\udcff.trace"], "a\\xff.trace: No such file"),
        (["compare", "--", ""], "compare: the name of the program is empty"),
        (["compare", "-q", "--", "ls", "a\udcff"], "'a\\xff' is not UTF-8, which results cannot hold"),
        (["compare", "--", "/no/such/program"], "/no/such/program: no such program"),
        (["compare", "--", "/etc"], "/etc: not an executable file"),
        (["compare", "--resume", "/no/such/folder"], "/no/such/folder: No such file"),
        (["report", "/dev/full"], "/dev/full: not a regular file"),
        (["report", ""], "the name is empty"),
        (["report", "out", "-o", "/tmp"], "'-o' / '--output': File '/tmp' is a directory"),
        (["report", "", "--form", "claims"], "the name is empty"),
        (["show", "nonsense"], "the catalog has no 'nonsense'; `heaplab show KIND` lists allocators, "),
        (["with", "glibc", "--", "/no/such/program"], "no such program"),
        (["with", "glibc", "--"], "with: there is no program behind --"),
        (["with", "glibc", "--", ""], "with: the name of the program is empty"),
        (["with", "--bogus", "glibc", "ls"], "No such option '--bogus'"),
        (
            ["with", "mine", "--allocator", "mine=./libmine.so", "--", "ls"],
            "--allocator stands behind ALLOCATOR",
        ),
        (["--catalog", "", "show", "suites"], "'--catalog': the name is empty"),
        (["--catalog", "/dev/null", "show", "suites"], "/dev/null: no such catalog folder"),
        (["path", "nonsense"], "no program, library or allocator 'nonsense'"),
        (["path", "glibc"], "nothing to preload"),
        (["get"], "name allocators, or give --all"),
        (["get", "--all", "glibc"], "--all contradicts glibc; give one of the two"),
    ],
)
def test_one_line_and_status_2(lab: Laboratory, words: list[str], message: str) -> None:
    assert message in refusal(lab.heaplab(*words))


def test_a_missing_folder_for_temporary_files_is_named(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/no/such/folder")
    assert lab.run() == (2, "heaplab: TMPDIR=/no/such/folder: no folder that can be written to\n")
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._get_default_tempdir", missing)
    assert "/tmp is missing; let TMPDIR name one" in refusal(lab.run())
    assert not lab.out.exists()


def missing() -> str:
    raise FileNotFoundError("no usable temporary directory")


@pytest.mark.parametrize("content", [b"no library at all", b"", b"\x7fELF\x02\x01\x01" + bytes(9)])
def test_what_is_no_library_is_refused(lab: Laboratory, tmp_path: Path, content: bytes) -> None:
    library = tmp_path / "libx.so"
    library.write_bytes(content)
    printed = refusal(lab.heaplab(*ONE, "--allocator", f"x={library}"))
    assert printed == f"heaplab: {library}: not an ELF library\n"


def test_a_library_for_another_machine_is_refused(
    lab: Laboratory, tmp_path: Path, libraries: dict[str, Path]
) -> None:
    library = tmp_path / "libx.so"
    content = bytearray(libraries["same"].read_bytes())
    content[18:20] = (243).to_bytes(2, "little")  # e_machine: RISC-V
    library.write_bytes(content)
    words = (*ONE, "--allocator", f"x={library}")
    assert "made for RISC-V, this machine is" in refusal(lab.heaplab(*words))


def test_a_library_without_malloc_is_refused(lab: Laboratory) -> None:
    libm = next(path for top in ("/lib", "/usr/lib") for path in Path(top).glob("**/libm.so.6"))
    printed = refusal(lab.heaplab(*ONE, "--allocator", f"x={libm}"))
    assert "defines no malloc, so preloading it changes nothing" in printed


def test_a_file_that_is_no_results_file(lab: Laboratory) -> None:
    lab.out.mkdir()
    (lab.out / "results.jsonl").write_text("something else\n")
    assert "not a results file of heaplab" in refusal(lab.run())


def test_a_table_that_needs_more_memory_than_there_is_is_refused_before_it_starts(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ESTIMATE", str(1 << 45))
    printed = refusal(lab.run())
    assert printed.startswith("heaplab: fake/one: needs 64 TiB of memory at size=2; a run may use ")
    assert not lab.out.exists()


def test_with_a_limit_the_cells_that_need_more_fail_with_the_reason_and_the_others_are_measured(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ESTIMATE", str(600 << 20))
    printed = failure(lab.run("--memory-limit", "1GiB"))
    assert "needs 1.17 GiB of memory and may use 1 GiB" in printed
    assert {run.cell["size"] for run in lab.good("glibc")} == {1}
    assert {run.cell["size"] for run in lab.results().runs if run.status == "skipped"} == {2}
