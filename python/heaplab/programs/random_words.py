"""Words and sentences from which inputs are made."""

import random

LINES = """
amber bridge cedar delta ember fjord garnet harbour island jasper kernel lantern meadow nickel
orchard pebble quartz river saddle timber umber valley willow yarrow zephyr
"""
WORDS = LINES.split()


def sentence(draw: random.Random, words: int) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(words))
