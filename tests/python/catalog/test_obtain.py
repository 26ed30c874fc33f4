"""`heaplab get`: a folder in the cache is complete or absent. Package clients are replaced by scripts."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from laboratory import Laboratory
from subprocesses import executable, ran, wheel_of, written

from heaplab.catalog import allocator_spec, contents as catalogs, locate, obtain as getting
from heaplab.catalog.obtain import CannotObtainError
from heaplab.machine import native
from heaplab.results.own_program import OwnProgram
from heaplab.results.records import Arm

VENDOR = r"""#!/bin/sh
mkdir -p vendor/some-sys && cd vendor/some-sys
echo '{"files": {}, "package": "0123"}' >.cargo-checksum.json
cp "$FAKE_LIBRARY" library
"""


def catalog_of(*sources: dict[str, object]) -> catalogs.Catalog:
    """A catalog of one allocator, which these sources give."""
    about = {"id": "some", "title": "some", "summary": "s", "licence": "MIT"}
    allocator = allocator_spec.Allocator.of_own_file(about | {"sources": sources})
    return catalogs.Catalog({"some": allocator}, {}, {}, {})


@pytest.mark.parametrize("damaged", ["", "[]", '{"source": {}, "version": "1", "library": 5, "sha256": {}}'])
def test_a_library_with_a_damaged_record_is_not_complete(tmp_path: Path, damaged: str) -> None:
    (tmp_path / locate.OBTAINED).write_text(damaged)
    assert locate.ObtainedLibrary.beside(tmp_path) is None


def get(**source: object) -> Arm:
    return getting.get(catalog_of(source), "some")


def cached(tools: Path) -> list[Path]:
    """Everything that was left in the cache."""
    return [path for path in (tools.parent / "cache").rglob("*") if path.is_file()]


SHARED = "-shared -fPIC -fno-builtin -Wl,--no-as-needed"
LOST = [
    "echo 'void *malloc(unsigned long size) { return (void *)size; }' >some.c",
    f"cc {SHARED} -Wl,-soname,liblost.so.1 -o liblost.so some.c",
]
CRATE = {"kind": "crate", "package": "some-sys", "version": "1.2.3"}


def test_a_debian_package_is_unpacked_and_recorded(tools: Path, libraries: dict[str, Path]) -> None:
    root = tools.parent / "root"
    control = "Package: libsome\nVersion: 4.5-1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n"
    written(root, {"DEBIAN/control": control})
    (root / "opt").mkdir()
    shutil.copy(libraries["same"], root / "opt" / "libsome.so.4")
    package = tools.parent / "libsome.deb"
    ran("dpkg-deb", "-b", root, package, check=True)
    executable(tools / "apt-get", f"#!/bin/sh\ncp {package} .\n")
    found = get(kind="debian", package="libsome", library="opt/libsome.so.*")
    assert found.version == "4.5-1"
    assert [Path(path).name for path in found.preload] == ["libsome.so.4"]
    (record,) = [path for path in cached(tools) if path.name == "obtained.json"]
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    assert json.loads(record.read_text())["sha256"] == {"libsome.deb": digest}
    executable(tools / "apt-get", "#!/bin/sh\nexit 1\n")
    assert get(kind="debian", package="libsome", library="opt/libsome.so.*") == found


SUM = hashlib.sha256(b"the archive").hexdigest()
APT = f"""#!/bin/sh
case "$*" in
*--print-uris*) echo "'http://x/libsome.deb' libsome_1%3aVERSION_all.deb 7 SHA256:{SUM}" ;;
*) printf 'the archive' >libsome_1%3aVERSION_all.deb ;;
esac
"""
PIP = """import sys
from pathlib import Path
Path(sys.argv[sys.argv.index("-d") + 1], "some-1.0-py3-none-any.whl").write_text("the archive")
"""


@pytest.mark.parametrize(
    ("kind", "name", "refused"),
    [
        ("debian", "libsome_1%3a2_all.deb", True),
        ("debian", "libsome_1%3a2_riscv64.deb", True),
        ("debian", "libsome_1%3a1_all.deb", False),  # of another version
        ("wheel", "some-1.0-py3-none-any.whl", True),
        ("wheel", "some-1.0-py3-none-manylinux_2_17_x86_64.whl", True),
        ("crate", "some-sys-1.2.3.crate", True),
    ],
)
def test_another_file_of_a_pinned_version_is_refused_before_it_is_used(
    tools: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str, refused: bool
) -> None:
    executable(tools / "apt-get", APT.replace("VERSION", "2"))
    executable(tools / "cargo", VENDOR)
    executable(tools / "dpkg-deb", "#!/bin/sh\necho 'error: taken' >&2\nexit 1\n")
    written(tools, {"pip.py": PIP})
    monkeypatch.setenv("PYTHONPATH", str(tools))
    package = {"debian": "libsome", "wheel": "some", "crate": "some-sys"}[kind]
    version = {"wheel": "1.0", "crate": "1.2.3"}.get(kind, "")
    about = {
        "package": package,
        "version": version,
        "library": "x.so",
        "build": ["echo 'error: taken' >&2; false"],
    }
    reason = (
        r"with SHA-256 \w+\.\.\. is not what was tested, the catalog pins " if refused else "error: taken"
    )
    with pytest.raises(CannotObtainError, match=reason):
        get(kind=kind, sha256={name: "0" * 64}, **about)
    assert cached(tools) == []


def test_what_an_older_catalog_took_is_not_here_for_one_that_pins_another_file(tools: Path) -> None:
    executable(tools / "cargo", VENDOR)
    crate = CRATE | {"build": ['cp library "$out"']}
    get(**crate)
    for sha256, here in (("0123", True), ("4567", False)):
        catalog = catalog_of(crate | {"sha256": {"some-sys-1.2.3.crate": sha256}})
        assert locate.is_here(catalog, "some") == here


def test_every_package_of_the_catalog_is_pinned() -> None:
    sources = [source for allocator in catalogs.load().allocators.values() for source in allocator.sources]
    fetched = [item for item in sources if item.kind in getting.FETCHED and item.kind != "runtime"]
    assert all(source.sha256 for source in fetched)
    assert {len(digest) for source in fetched for digest in source.sha256.values()} == {64}


def test_a_wheel_is_unpacked(
    tools: Path, libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel_of(tools.parent / "some-1.0-py3-none-any.whl", {"some/lib/libsome.so": libraries["same"]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tools.parent))
    found = get(kind="wheel", package="some", version="1.0", library="some/lib/libsome.so")
    assert found.version == "1.0"
    assert Path(found.preload[0]).is_file()


def test_a_crate_is_built_in_its_sources(tools: Path) -> None:
    executable(tools / "cargo", VENDOR)
    found = get(**CRATE, upstream="9", build=['cp library "$out"'])
    assert found.version == "9"
    assert [Path(path).name for path in found.preload] == ["libsome.so"]
    named = get(**CRATE | {"version": "4"}, library="libmine.so", build=['cp library "$out"'])
    assert [Path(path).name for path in named.preload] == ["libmine.so"]


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (["echo 'error: no such header' >&2; false"], "sh: error: no such header"),
        (["true"], "the build made no library"),
        (['echo text >"$out"'], "not an ELF library"),
        ([*LOST, f'cc {SHARED} -o "$out" some.c ./liblost.so'], r"needs liblost\.so\.1, which"),
    ],
)
def test_what_did_not_build_leaves_nothing_and_says_why(tools: Path, build: list[str], reason: str) -> None:
    executable(tools / "cargo", VENDOR)
    with pytest.raises(Exception, match=reason) as failed:
        get(**CRATE, build=build)
    assert len(str(failed.value).splitlines()) == 1
    assert cached(tools) == []


def test_a_library_that_no_program_starts_with_is_not_kept(tools: Path) -> None:
    executable(tools / "cargo", VENDOR)
    source = "void abort(void); void* malloc(unsigned long n) { abort(); } void free(void* p) {}"
    build = f"echo '{source}' >bad.c && cc -shared -fPIC -fno-builtin -o \"$out\" bad.c"
    with pytest.raises(CannotObtainError):
        get(**CRATE, build=[build])
    assert cached(tools) == []


def test_a_client_that_is_missing_is_named(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(CannotObtainError, match=r"needs cargo and up to six .*; cargo not on this machine"):
        get(**CRATE, build=["true"])


def test_the_first_source_that_gives_the_library_counts(tools: Path) -> None:
    executable(tools / "apt-get", "#!/bin/sh\necho 'E: no such package' >&2\nexit 100\n")
    executable(tools / "cargo", VENDOR)
    absent = {"kind": "debian", "package": "nothing", "library": "nothing.so"}
    catalog = catalog_of(absent, CRATE | {"build": ['cp library "$out"']})
    assert getting.get(catalog, "some").version == "1.2.3"
    assert locate.locate(catalog, "some").version == "1.2.3"


def test_the_command_says_what_takes_minutes_every_step_and_what_is_here(
    tools: Path, lab: Laboratory
) -> None:
    executable(tools / "cargo", VENDOR)
    lab.catalog = shutil.copytree(lab.catalog, lab.out.with_name("catalog"))
    text = (
        'title = "some"\nsummary = "s"\nlicence = "MIT"\n[[sources]]\nkind = "crate"\npackage = "some-sys"\n'
        """version = "1.2.3"\nbuild = ["true", 'cp library "$out"']\n"""
    )
    written(lab.catalog, {"allocators/some.toml": text})
    status, printed = lab.heaplab("get", "glibc", "some")
    lines = printed.splitlines()
    assert status == 0
    assert lines[0] == "heaplab: built from source, each up to six minutes on two cores: some"
    assert lines[1].startswith("glibc ")
    assert lines[1].endswith(": already here, the C library")
    steps = ["download", "build 1 of 2: true", 'build 2 of 2: cp library "$out"', "verify"]
    assert [line.rpartition(" (")[0] for line in lines[2:6]] == [f"some: {step}" for step in steps]
    assert lines[6].startswith("some 1.2.3: /")
    again = lab.heaplab("get", "some")[1]
    assert again == lines[6].replace(": ", ": already here, ") + "\n"


@pytest.mark.slow
def test_an_allocator_of_the_catalog_can_be_had(tools: Path) -> None:
    if native.program(OwnProgram("acdc")) is None:
        pytest.skip("not built")
    found = getting.get(catalogs.load(), "tbbmalloc-2023")
    assert found.version == "2023.2.0"
    assert cached(tools)
