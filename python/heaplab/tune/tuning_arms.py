"""The arms that tuning tries: settings of the catalog, one at a time, and several together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heaplab.catalog.allocator_spec import WorthTrying
from heaplab.catalog.contents import Catalog
from heaplab.errors import UsageError
from heaplab.options.arm_options import GivenAllocator, settings_of

# Variables that hold a list of options: the separator of options, and that of an option's name and value.
LISTS = {"MALLOC_CONF": (",", ":"), "GLIBC_TUNABLES": (":", "="), "SCUDO_OPTIONS": (":", "=")}
COMBINED_MOST = 3  # settings: of more, some would take part by luck


@dataclass(frozen=True)
class Trial:
    """Settings that are in effect together."""

    parts: tuple[WorthTrying, ...]

    @property
    def name(self) -> str:
        return "+".join(part.name for part in self.parts)

    @property
    def words(self) -> list[str]:
        """The settings as the user would type them: one word for each variable."""
        return joined_lists(part.setting for part in self.parts)

    @property
    def options(self) -> set[str]:
        return {option for part in self.parts for option in options_of(part.setting)}

    def given(self, base: str) -> GivenAllocator:
        """The trial as an arm of the allocator `base`."""
        return GivenAllocator(self.name, base, settings_of(self.words))


def trials_of(catalog: Catalog, name: str) -> list[Trial]:
    """A trial for each setting of the allocator. Raises UsageError if the catalog has none."""
    allocator, _ = catalog.allocator(name)
    if not allocator.settings:
        raise UsageError(f"tune: the catalog has no settings of {name} that are worth trying")
    return [Trial((setting,)) for setting in allocator.settings]


def combinations(rankings: Iterable[Sequence[str]], trials: Sequence[Trial]) -> list[Trial]:
    """For each ranking a trial of its best settings together, without repetition."""
    by_name = {trial.name: trial for trial in trials}
    trials_together = [combined([by_name[name] for name in ranking], trials) for ranking in rankings]
    return list(dict.fromkeys(trial for trial in trials_together if len(trial.parts) > 1))


def combined(ranked: Sequence[Trial], trials: Sequence[Trial]) -> Trial:
    """The best settings together, in the order of the catalog, without those that contradict a better one."""
    kept: list[Trial] = []
    for trial in ranked:
        if len(kept) < COMBINED_MOST and not any(trial.options & other.options for other in kept):
            kept.append(trial)
    return Trial(tuple(part for trial in trials if trial in kept for part in trial.parts))


def options_of(setting: str) -> set[str]:
    """The names that a setting sets: its variable, or the options in the variable's list."""
    variable, _, value = setting.partition("=")
    if variable not in LISTS:
        return {variable}
    between, behind = LISTS[variable]
    return {entry.partition(behind)[0] for entry in value.split(between)}


def joined_lists(settings: Iterable[str]) -> list[str]:
    """The settings, which do not contradict each other, with the lists of one variable joined."""
    values: dict[str, str] = {}
    for setting in settings:
        variable, _, value = setting.partition("=")
        values[variable] = f"{values[variable]}{LISTS[variable][0]}{value}" if variable in values else value
    return [f"{variable}={value}" for variable, value in values.items()]
