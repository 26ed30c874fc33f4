"""Student's t distribution, for any number of degrees of freedom from 1 on, whole or not.

The tail is a regularised incomplete beta function of freedom / (freedom + t^2): t times the density, divided
by the continued fraction DLMF 8.17.22. The fraction converges quickly below the mean of the beta
distribution; above that, the fraction of 1 - x takes its place (DLMF 8.17.4). The relative error is below
1e-12 to a thousand degrees of freedom and below 1e-9 to a million, where x itself is less precise.
"""

from functools import lru_cache
from math import exp, gamma, inf, log, log1p, pi, sqrt
from statistics import NormalDist

PRECISE = 1e-14  # relative change by a term, below which the continued fraction ends
STEPS = 50  # of Newton's method; six suffice unless the tail is tiny


def tail(freedom: float, t: float) -> float:
    """The probability of more than t, which is not negative."""
    if t == inf:
        return 0.0
    whole = freedom + t * t
    scaled = t * _density(freedom, t)
    if freedom / whole < (freedom + 2) / (freedom + 5):
        return scaled / freedom / _fraction(freedom / 2, 1 / 2, freedom / whole)
    return 1 / 2 - scaled / _fraction(1 / 2, freedom / 2, t * t / whole)


@lru_cache(maxsize=4096)
def quantile(freedom: float, exceeded: float) -> float:
    """The t that is exceeded with a probability above 0 and up to 1/2.

    Newton's method on the logarithms of t and of the tail, a concave function that is nearly a line far out.
    """
    t = -NormalDist().inv_cdf(exceeded)
    for _ in range(STEPS):
        if t == 0:
            break
        beyond = tail(freedom, t)
        step = log(beyond / exceeded) * beyond / (t * _density(freedom, t))
        t *= exp(step)
        if abs(step) < sqrt(PRECISE):  # the error left is about its square
            break
    return t


def _density(freedom: float, t: float) -> float:
    power = exp(-(freedom + 1) / 2 * log1p(t * t / freedom))
    return _gamma_ratio(freedom / 2) / sqrt(pi * freedom) * power


def _gamma_ratio(a: float) -> float:
    """gamma(a + 1/2) / gamma(a), beyond 100 by its asymptotic series."""
    if a < 100:
        return gamma(a + 1 / 2) / gamma(a)
    terms = (-1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144)
    return sqrt(a) * (1 + sum(term / a**power for power, term in enumerate(terms, 1)))


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1/(1 + d2/(1 + ...)) of DLMF 8.17.22, from the front (Lentz 1976)."""
    value, numerators, denominators = 1.0, 1.0, 0.0
    n, change = 0, inf
    while abs(change - 1) > PRECISE:
        n += 1
        m = n // 2
        if n % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        numerators = 1 + d / numerators
        denominators = 1 / (1 + d * denominators)
        change = numerators * denominators
        value *= change
    return value
