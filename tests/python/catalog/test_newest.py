"""Newest releases: which counts as newer, what it is named, and what stays where it cannot be had."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from subprocesses import executable
from test_obtain import APT, SUM, catalog_of

from heaplab.catalog import allocator_spec, contents as catalogs, newest, toml_file
from heaplab.catalog.allocator_spec import Allocator
from heaplab.catalog.obtain import CannotObtainError
from heaplab.machine import native

INFO = """#!/bin/sh
[ "$1" = info ] && { echo "some-sys"; echo "version: VERSION"; exit; }
mkdir -p vendor/some-sys && cd vendor/some-sys
echo '{"files": {}, "package": "0123"}' >.cargo-checksum.json
cp "$FAKE_LIBRARY" library
grep -q VERSION ../../Cargo.toml && BUILT
"""


@pytest.fixture
def allocator(tools: Path) -> Allocator:
    source = {"version": "0.9.3", "upstream": "4", "build": ['cp library "$out"']}
    return catalog_of({"kind": "crate", "package": "some-sys"} | source).allocators["some"]


def cargo(tmp_path: Path, version: str, then: str = "true") -> None:
    executable(tmp_path / "bin" / "cargo", INFO.replace("VERSION", version).replace("BUILT", then))


def test_a_newer_release_is_obtained_and_named_by_its_package(allocator: Allocator, tmp_path: Path) -> None:
    cargo(tmp_path, "0.10.0+abc")
    found, reasons = newest.renewed(allocator, lambda _: None)
    assert not reasons
    assert (found.sources[0].version, found.sources[0].upstream) == ("0.10.0+abc", "some-sys 0.10.0+abc")
    assert (tmp_path / "cache/allocators/some/crate-some-sys-0.10.0+abc/obtained.json").is_file()


@pytest.mark.parametrize("version", ["0.9.3", "0.9.3+abc", "0.9.2"])
def test_what_is_not_newer_changes_nothing(allocator: Allocator, tmp_path: Path, version: str) -> None:
    cargo(tmp_path, version)
    assert newest.renewed(allocator, lambda _: None) == (allocator, [])
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("version", "then", "reason"), [("0.9.4", "exit 7", "cargo: "), ("", "true", "no version")]
)
def test_what_cannot_be_had_stays_and_says_why(
    allocator: Allocator, tmp_path: Path, version: str, then: str, reason: str
) -> None:
    cargo(tmp_path, version, then)
    found, reasons = newest.renewed(allocator, lambda _: None)
    assert found == allocator
    assert len(reasons) == 1
    assert reasons[0].startswith("some: newest some-sys not obtained: ")
    assert reason in reasons[0]


@pytest.mark.parametrize(
    ("version", "file", "digest", "said"),
    [
        ("2", "libsome_1%3a2_all.deb", SUM, "libsome 1:2: pinned, none is newer"),
        ("2", "libsome_1%3a2_all.deb", "0" * 64, "is not what was tested"),
        ("3", "libsome_1%3a2_all.deb", SUM, "1:3: new and not pinned; pinned: libsome_1%3a2_all.deb"),
    ],
)
def test_apt_is_asked_for_debian_packages_without_a_download(
    tools: Path, version: str, file: str, digest: str, said: str
) -> None:
    executable(tools / "apt-get", APT.replace("VERSION", version))
    catalog = catalog_of({"kind": "debian", "package": "libsome", "library": "x", "sha256": {file: digest}})
    (line,) = newest.news(catalog.allocators["some"], lambda _: None)
    assert line.startswith("some: libsome 1:")
    assert said in line


@pytest.mark.parametrize(
    ("version", "said"), [("0.9.3", "pinned, none is newer"), ("0.9.4", "new and not pinned; pinned: a")]
)
def test_a_crate_that_is_newer_than_the_pinned_one_is_said(
    allocator: Allocator, tmp_path: Path, version: str, said: str
) -> None:
    cargo(tmp_path, version)
    pinned = replace(allocator, sources=[replace(allocator.sources[0], sha256={"a": "0"})])
    assert newest.news(pinned, lambda _: None) == [f"some: some-sys {version}: {said}"]


def test_pip_is_asked_for_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    source = allocator_spec.Source(kind="wheel", package="some", version="1.0", library="x.so")
    monkeypatch.setattr(newest.obtain, "run", lambda _: '{"install": [{"metadata": {"version": "2.0"}}]}')
    assert newest.newest_version(source) == "2.0"
    monkeypatch.setattr(newest.obtain, "run", lambda _: '{"install": []}')
    with pytest.raises(CannotObtainError, match="pip named no version"):
        newest.newest_version(source)


@pytest.mark.parametrize("name", sorted(catalogs.load().allocators))
def test_every_allocator_of_the_catalog_is_written_as_it_is_read(name: str) -> None:
    allocator = catalogs.load().allocators[name]
    content = tomllib.loads(newest.as_toml(allocator))
    assert toml_file.checked(Allocator, Path(name), {"id": name} | content) == allocator


@pytest.mark.parametrize("name", sorted(catalogs.load().allocators))
def test_every_allocator_of_heaplabs_own_passes_the_check_that_is_left_out_when_it_is_read(name: str) -> None:
    path = native.catalog() / "allocators" / f"{name}.toml"
    assert toml_file.load(Allocator, path, name) == catalogs.load().allocators[name]
