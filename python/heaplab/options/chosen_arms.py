"""The allocators that the options of a command select."""

import sys
from collections.abc import Sequence

from heaplab.catalog import allocator_spec, locate
from heaplab.catalog.contents import Catalog
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import native, setting_proof
from heaplab.options.arm_options import GivenAllocator, GivenFactorial
from heaplab.results.records import CONTROL_SUFFIX, Arm
from heaplab.screen.notes import note

NO_DEEP_BINDING = "no_deep_binding"
BASELINE = "glibc"


def arms(
    catalog: Catalog, asked: str | None, own: Sequence[GivenAllocator], factorial: GivenFactorial | None
) -> tuple[Catalog, list[Arm]]:
    """The arms that the options of a comparison name, the baseline first, and a catalog that contains them.

    Raises UsageError if the baseline is void, because there would be nothing to compare with.
    """
    if factorial and (asked or own):
        raise UsageError("--factorial excludes --allocators and --allocator: it names its arms itself")
    if factorial:
        catalog = with_own(catalog, [arm for arm in factorial if arm.settings or arm.library])
        chosen = [arm_of(catalog, arm.name).model_copy(update={"levels": arm.levels}) for arm in factorial]
    else:
        catalog = with_own(catalog, own)
        chosen = libraries(catalog, asked, own)
    if chosen[0].void:
        raise UsageError(f"{chosen[0].allocator}: {chosen[0].void}; it is the baseline")
    void = {arm.allocator: arm.void for arm in chosen[1:] if arm.void}
    if void and len(void) == len(chosen) - 1:
        reasons = "; ".join(f"{name} is void: {reason}" for name, reason in void.items())
        raise UsageError(f"nothing to compare {chosen[0].allocator} with: {reasons}")
    for name, reason in void.items():
        note(f"{name} is void: {reason}")
    return catalog, chosen


def libraries(catalog: Catalog, asked: str | None, own: Sequence[GivenAllocator]) -> list[Arm]:
    """The allocators of a comparison, the baseline first.

    Every allocator asked for by name must be on this machine. Without names the comparison takes all
    ready-made allocators found here, with "all" every allocator found here; variants and references take part
    only when named. The user's own arms always take part. If nothing else is named, they alone are compared
    with a baseline: the allocator whose settings they all change, or else the C library's.
    """
    if asked is None and own:
        names, must = [baseline_of(own), *(given.name for given in own)], True
    elif asked is None:
        names, must = [name for name in catalog.allocators if catalog.allocators[name].quick], False
    elif asked == "all":
        names, must = [name for name, item in catalog.allocators.items() if not item.reference], False
    else:
        names, must = [name.strip() for name in asked.split(",") if name.strip()], True
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(f"--allocators: {twice} is named twice")
    names += [given.name for given in own]
    if not names:
        raise UsageError("--allocators: no name given")
    if not must and BASELINE in names:
        names.remove(BASELINE)
        names.insert(0, BASELINE)
    chosen = []
    for name in dict.fromkeys(names):
        try:
            chosen.append(arm_of(catalog, name))
        except locate.NotHereError as error:
            if must:
                raise
            if sys.stderr.isatty():
                note(f"left out {error}")
    return chosen


def baseline_of(own: Sequence[GivenAllocator]) -> str:
    """The allocator whose settings all given arms change; the C library's if there are several."""
    bases = {given.base for given in own if given.settings and given.library is None}
    return bases.pop() if len(bases) == 1 and all(given.settings for given in own) else BASELINE


def arm_of(catalog: Catalog, name: str) -> Arm:
    """The allocator NAME as found here, with the proof of its settings. Raises what `locate` raises."""
    return setting_proof.proved(locate.locate(catalog, name))


def without_deep_binding(arm: Arm) -> Arm:
    """The arm with a library beside it that removes RTLD_DEEPBIND from the flags of dlopen."""
    library = native.library(NO_DEEP_BINDING)
    if library is None:
        raise HeaplabError("--no-deep-binding: this build of heaplab has not the library for it")
    return arm.model_copy(update={"beside": [*arm.beside, str(library)]})


def with_own(catalog: Catalog, own: Sequence[GivenAllocator]) -> Catalog:
    for given in own:
        if CONTROL_SUFFIX in given.name or given.name in (*catalog.named, *catalog.allocators):
            raise UsageError(f"--allocator {given.name}=...: the name is taken, choose another")
        base = given.base
        if given.library:
            catalog, base = catalog.with_library(given.name, given.library), given.name
        if given.settings or not given.library:
            settings = allocator_spec.Variant(
                title=given.title,
                environment=given.settings.environment,
                huge_pages=given.settings.huge_pages,
            )
            catalog = catalog.with_settings(given.name, base, settings)
    return catalog
