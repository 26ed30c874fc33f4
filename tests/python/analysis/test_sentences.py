"""A published sentence and its test say the same: the numbers, the allocators, the numbers of threads."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from heaplab.analysis import claims
from heaplab.catalog import contents
from heaplab.results import spec

CATALOG = contents.load()
NAMES = {"ptmalloc2": "glibc", "tbb": "tbbmalloc"}  # the publications' names of what has another here
ALL = re.compile(
    r"\b(all|every|each|no) (other )?allocators?\b|\ball but\b|\bthe (fastest|least)\b", re.IGNORECASE
)
WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
SHARES = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}
NUMBER = r"\d+(?:\.\d+)?"


def published() -> Iterator[tuple[spec.Experiment, spec.Expectation]]:
    for publication in CATALOG.publications.values():
        for identifier in publication.experiments:
            experiment = CATALOG.experiments[identifier]
            yield from ((experiment, expectation) for expectation in experiment.expectations)


SENTENCES = [pytest.param(*each, id=f"{each[0].id}: {each[1].says[:60]}") for each in published()]


def test_there_are_sentences() -> None:
    assert len(SENTENCES) > 129


@pytest.mark.parametrize(("experiment", "expectation"), SENTENCES)
def test_numbers_of_the_sentence_are_those_of_the_test(
    experiment: spec.Experiment, expectation: spec.Expectation
) -> None:
    asked = {
        float(number)
        for value in expectation.arguments.values()
        for number in claims.listed(value)
        if isinstance(number, int | float)
    }
    for said, ratios in numbers_in(expectation.says):
        assert any(near(number, ratio) for number in asked for ratio in ratios), (said, asked)


def near(number: float, ratio: float) -> bool:
    return abs(number / ratio - 1) < 0.01


def numbers_in(says: str) -> Iterator[tuple[str, list[float]]]:
    """Each number of a sentence, with the ratios that it may stand for."""
    for found in re.finditer(rf"({NUMBER})(?: to ({NUMBER}))? %", says):
        for percent in filter(None, found.groups()):
            yield found[0], shares(float(percent) / 100)
    for found in re.finditer(rf"({NUMBER})(?: to ({NUMBER}))? times", says):
        for times in filter(None, found.groups()):
            yield found[0], [float(times), 1 / float(times)]
    for found in re.finditer(rf"({'|'.join(WORDS)}) times|about ({'|'.join(WORDS)})\b", says):
        times = WORDS[found[1] or found[2]]
        yield found[0], [times, 1 / times]
    if "twice" in says:
        yield "twice", [2, 1 / 2]
    for found in re.finditer(rf"\b(a|an|by|than|about|takes?) ({'|'.join(SHARES)})\b", says):
        yield found[0], shares(SHARES[found[2]])
    for words, least in (("several times", 3), ("far more", 2)):
        if words in says:
            yield words, [least, 1 / least]


def shares(share: float) -> list[float]:
    """ "A fifth" of it, a fifth more, a fifth less; a swept percentage."""
    parts = [share, 1 + share, 1 - share, 100 * share]
    return [ratio for part in parts if part for ratio in (part, 1 / part)]


@pytest.mark.parametrize(("experiment", "expectation"), SENTENCES)
def test_allocators_of_the_sentence_are_those_of_the_test(
    experiment: spec.Experiment, expectation: spec.Expectation
) -> None:
    if experiment.compare:
        return
    [publication] = [
        each for each in CATALOG.publications.values() if experiment.id.startswith(f"{each.id}/")
    ]
    known = {*publication.compared, *publication.unobtainable}
    tested = {*allocators_tested(experiment, expectation), *expectation.unobtainable}
    said, _, spared = (
        expectation.says.partition(" but ") if ALL.search(expectation.says) else (expectation.says, "", "")
    )
    assert named_in(said) & known <= tested
    if ALL.search(expectation.says):
        assert known - named_in(spared) <= tested
    assert set(expectation.unobtainable) <= {*publication.unobtainable}


def allocators_tested(experiment: spec.Experiment, expectation: spec.Expectation) -> set[str]:
    arguments = expectation.arguments
    named: list[Any] = claims.listed(arguments.get("allocator", claims.allocators_of(experiment)))
    others = ["glibc"] if "along" in arguments else claims.listed(arguments.get("than", "glibc"))
    return {*map(str, named), *map(str, others)}


def named_in(text: str) -> set[str]:
    return {NAMES.get(word, word) for word in re.findall(r"[A-Za-z]\w+", text)}


@pytest.mark.parametrize(("experiment", "expectation"), SENTENCES)
def test_threads_of_the_sentence_are_those_of_the_test(
    experiment: spec.Experiment, expectation: spec.Expectation
) -> None:
    threads = claims.listed(expectation.arguments.get("threads", []))
    for more, number in re.findall(r"(more than )?(\d+) threads", expectation.says):
        assert threads
        assert min(threads) > int(number) if more else threads == [int(number)]
