"""What `heaplab atlas --nightly` does: one more campaign for an atlas, and what has changed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from heaplab.atlas import atlas_files
from heaplab.atlas.atlas_pages import AtlasSite
from heaplab.atlas.many_campaigns import Atlas, gathered
from heaplab.catalog import contents as catalogs, newest
from heaplab.catalog.contents import Catalog
from heaplab.comparison import run_compare
from heaplab.errors import HeaplabError
from heaplab.inventory.run_get import obtained
from heaplab.options.given_options import ComparisonOptions, Subject
from heaplab.results import store
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay
from heaplab.stats import GateVerdict
from heaplab.text import units

CAMPAIGNS, SITE, CATALOG = "campaigns", "site", "catalog"


def add_night(
    extra: tuple[Path, ...],
    allocators: str | None,
    suite: str | None,
    budget: float,
    folder: Path,
    quiet: bool,
    pinned: bool = False,
) -> int:
    """Return 1 if a planned run gave no figure."""
    newer = folder / CATALOG
    (newer / "allocators").mkdir(parents=True, exist_ok=True)
    extra = (*extra, *([] if pinned else [newer]))
    obtain(extra, allocators, None if pinned else newer)
    options = ComparisonOptions(
        output=campaign_folder(folder / CAMPAIGNS),
        budget=budget,
        precision=0.02,
        seed=1,
        quiet=quiet,
        allocators=allocators,
    )
    status = run_compare.compare(extra, Subject(suite=suite), options)
    if options.output and store.load(options.output).end is None:
        return status  # interrupted: the next call finishes it
    atlas = gathered(sorted((folder / CAMPAIGNS).glob(f"*/{store.FILE_NAME}")))
    click.echo(f"\natlas: {atlas_files.write(atlas, folder / SITE)}")
    for line in changed(atlas):
        click.echo(line)
    return status


def obtain(extra: tuple[Path, ...], allocators: str | None, newer: Path | None) -> None:
    """Obtain the allocators; a note names each that cannot be obtained, and the comparison leaves it out.

    Newer releases of the sources that the catalog pins become files of the catalog `newer`.
    """
    catalog = catalogs.load(extra)
    every = allocators is None or allocators == "all"
    for name in (
        catalog.allocators if every else [campaign.strip() for campaign in (allocators or "").split(",")]
    ):
        try:
            if newer and renew(catalog, name, newer):
                continue
            obtained(catalog, name)
        except HeaplabError as error:
            note(f"{name}: not obtained: {error}")


def renew(catalog: Catalog, name: str, newer: Path) -> bool:
    """Obtain a release that is newer than the catalog's. Returns whether there was one."""
    allocator, _ = catalog.allocator(name)
    with StepDisplay(name) as steps:
        renewed, reasons = newest.renewed(allocator, steps.tell)
    for reason in reasons:
        note(reason)
    if renewed == allocator:
        return False
    (newer / "allocators" / f"{renewed.id}.toml").write_text(newest.as_toml(renewed), encoding="utf-8")
    note(f"{renewed.id}: {renewed.sources[0].package} {renewed.sources[0].version} is new")
    return True


def campaign_folder(campaigns: Path) -> Path:
    """The folder of the last campaign if it was interrupted, or else a new folder."""
    last = sorted(campaigns.glob(f"*/{store.FILE_NAME}"))[-1:]
    if last and store.load(last[0]).end is None:
        return last[0].parent
    return campaigns / datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S")


def changed(atlas: Atlas) -> Iterator[str]:
    """Lines about the last campaign: allocators with a new build, and comparisons that are worse with it."""
    last, before = atlas.campaigns[-1], atlas.campaigns[:-1]
    earlier = {
        name: campaign for campaign in before for name in campaign.builds if campaign.machine == last.machine
    }
    both = sorted(earlier.keys() & last.builds.keys())
    new = [name for name in both if earlier[name].builds[name] != last.builds[name]]
    for name in new:
        yield f"new: {name} {last.versions[name]}, before {earlier[name].versions[name]}"
    changes = [change for change in AtlasSite(atlas, {}).changes if change.new.campaign is last]
    for change in changes:
        if change.verdict is GateVerdict.WORSE:
            ratio, about = (
                change.new.ratio,
                f"{units.ratio(change.ratio.estimate)} ({units.bounds(change.ratio)})",
            )
            yield f"worse: {ratio.allocator}, {ratio.measure} of {ratio.about}: {about} of the build before"
    silent = sum(change.verdict is GateVerdict.COULD_NOT_TELL for change in changes)
    if changes:
        yield f"{units.counted(len(changes), 'comparison')} with the build before, {silent} could not be told"
    else:
        nothing = "nothing was measured under both builds" if new else "no build is new"
        yield nothing if before else "the first campaign: nothing to compare with yet"
