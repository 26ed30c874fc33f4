"""An advice for other programs: at most 8 KiB of JSON, the verdict first."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from heaplab.advise.answer import Evidence, HolderAnswer
from heaplab.advise.census import Replays, parts
from heaplab.advise.sentences import sentence

MOST_BYTES = 8192
MOST_ROWS = 12
LONGEST_NAME = 160  # characters of a call site


def text_of(evidence: Evidence, answers: Sequence[HolderAnswer]) -> str:
    """The text, with rows left out from the end until it fits."""
    for rows in range(MOST_ROWS, -1, -1):
        text = json.dumps(document(evidence, answers, rows), ensure_ascii=False)
        if len(text.encode(errors="replace")) < MOST_BYTES:
            return text
    return text[: MOST_BYTES - 1]


def document(evidence: Evidence, answers: Sequence[HolderAnswer], rows: int) -> dict[str, Any]:
    verdict, *others = (plain(evidence, answer) for answer in answers)
    answer_fields = {**verdict, "also": others, "program": evidence.profile.program[:LONGEST_NAME]}
    if grown := [growth for answer in answers for growth in answer.growths][: rows + 1]:
        answer_fields["growth"] = [{**asdict(growth), "name": growth.name[:LONGEST_NAME]} for growth in grown]
    return {**answer_fields, **measured(evidence, rows)} if evidence.replays else answer_fields


def plain(evidence: Evidence, answer: HolderAnswer) -> dict[str, Any]:
    return {
        "verdict": answer.kind.value,
        "sure": answer.sure,
        "sentence": sentence(evidence, answer)[:1000],
        "bytes": answer.bytes,
        "less_bytes": list(answer.gain),
    }


def measured(evidence: Evidence, rows: int) -> dict[str, Any]:
    """What replays have shown."""
    census, profile, place = evidence.census, evidence.profile, evidence.moment.place
    fields: dict[str, Any] = {
        "moment": {"why": census.why, "time_s": census.time_us / 1e6, "live_blocks": census.live_blocks},
        "memory": {"allocator": evidence.base.name, "bytes": census.memory, **dict(parts(census))},
        "sites": [
            {
                "site": profile.chain(holding.site)[:LONGEST_NAME],
                "pinned": holding.pinned,
                "blocks": holding.blocks,
                "live": holding.bytes,
                "pages": holding.pages,
                "mean_age_s": holding.ages_us / holding.blocks / 1e6,
                "oldest_s": holding.oldest_us / 1e6,
            }
            for holding in census.holdings[:rows]
        ],
        "allocators": [allocator(replay, place) for replay in evidence.replays[: rows + 1]],
    }
    if evidence.coverage:
        fields["coverage"] = evidence.coverage.model_dump()
    if what_if := evidence.what_if:
        fields["apart"] = {
            "sites": [profile.chain(site)[:LONGEST_NAME] for site in what_if.sites],
            "allocators": [
                {
                    "allocator": growth.name,
                    "less_bytes": list(what_if.less(number, growth, place)),
                    "unpinned": what_if.unpinned(number, growth, place),
                    "unpinned_estimated": what_if.estimated[growth.name],
                }
                for number, growth in enumerate(evidence.replays[: rows + 1])
            ],
        }
    if evidence.other_ways:
        fields["other_ways"] = [
            {
                "what": other_way.name,
                "worth": other_way.gain,
                "sites": [profile.chain(site)[:LONGEST_NAME] for site in other_way.sites[: rows + 1]],
                "found": other_way.calls,
                "predicted": {"seconds": other_way.seconds, "bytes": other_way.memory},
                "measured": other_way.measured and asdict(other_way.measured),
            }
            for other_way in evidence.other_ways
        ]
    return fields


def allocator(replays: Replays, place: int) -> dict[str, Any]:
    return {
        "allocator": replays.name,
        "bytes": list(replays.memory(place)),
        "hurried": replays.hurried,
        **dict(parts(replays.typical(place))),
    }
