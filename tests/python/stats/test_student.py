"""Probabilities and quantiles against those of scipy, which heaplab does not need to run."""

from itertools import islice
from math import inf

import numpy as np
import pytest

from heaplab.stats import rank_intervals, student

# A mean of many cells has broken degrees of freedom, a forecast up to a thousand times those measured.
FREEDOMS = [1, 1.37, 2, 4, 9.81, 30, 199.9, 200, 201, 5000, 1e6]
# At 1.7, the continued fraction changes with FREEDOMS: some use that of small distances, others the other.
DISTANCES = [0, 1e-3, 0.01, 0.5, 1, 1.7, 1.8, 2.6, 10, 300]


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_tails_are_those_of_student(freedom: float) -> None:
    from scipy import special

    found = [student.tail(freedom, t) for t in DISTANCES]
    assert found == pytest.approx(special.stdtr(freedom, -np.array(DISTANCES)), rel=1e-9, abs=1e-300)
    assert student.tail(freedom, inf) == 0


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_are_those_of_student(freedom: float) -> None:
    from scipy import special

    exceeded = np.array([0.5, 0.49, 0.25, 0.025, 0.025 / 40, 1e-9])
    found = [student.quantile(freedom, share) for share in exceeded]
    assert found == pytest.approx(-special.stdtrit(freedom, exceeded), rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("count", [1, 5, 6, 40, 1001, 3000])
def test_errors_of_the_sign_test_are_binomial(count: int) -> None:
    from scipy import special

    errors = list(islice(rank_intervals._sign_errors(count), count // 2 + 1))
    expected = special.bdtr(np.arange(len(errors)), count, 0.5)
    assert errors == pytest.approx(expected, rel=1e-10, abs=1e-300)
