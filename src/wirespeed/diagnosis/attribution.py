"""attribute: is a run slow, and which single cause explains its rows best.

A run is slow where its rows lie beyond the band of a machine that is well; where something that was
set costs speed and the rows bear it out; or where a curve falls off its own best for good. Each
hypothesis is then weighed: how likely it is beforehand, times how near its forecast comes to the
rows.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.collectives.operation import COPIES
from wirespeed.comparison.classes import Platform, SizeClass, size_class
from wirespeed.comparison.measured import COPY_PLATEAU, PLATEAU
from wirespeed.diagnosis.hypotheses import HINTED, RARE, STATED, Hypothesis, hypotheses, rails
from wirespeed.diagnosis.run import Measured, Run
from wirespeed.diagnosis.stated import ASKED, Stated
from wirespeed.topology.change import Change

Floats = npt.NDArray[np.float64]

REACH, LEAST = 2.0, 0.1
"""How often the width of its band [log, at least LEAST] the middle row must lie off to be slow.

Chosen on the published records, between false alarms and what is missed: docs/doctor.md shows
others and what they do on folds held out.
"""
COST = 0.05
"""From which cost on, in the forecast, a setting is blamed where rows bear it out."""
RUINOUS = 0.5
"""From which cost on it is blamed where nothing was measured."""
COLLAPSE = 1.6
"""By how much a curve must fall off its best bandwidth for good; repeated runs differ by 4 %."""
MOST = 3
"""Causes that are named."""
CONGESTION = "adaptive_routing_or_congestion"

_QUANTILE = 1.2816
"""Of the normal distribution, beyond which 10 % lie."""
_FAULTY = 0.2
"""How far off [log] a forecast of a faulty machine is besides: faults come in all degrees."""
_NEAR = 2.0
"""How many standard deviations the middle row may lie off a forecast that explains it."""
_WIDEST = 3.0
"""[log] slow-downs of unknown size reach to about a factor of 20."""
_FREEDOM = 3.0
"""Degrees of freedom of the errors' distribution: the fewer, the heavier its tails."""


class Explained(msgspec.Struct, frozen=True):
    """A cause, the changes that stand for it, and the error of the forecast without and with them.

    Errors are medians over rows of forecast over measured time, less 1; null where nothing was
    measured or no forecast knows how much the cause costs.
    """

    cause: str
    changes: tuple[str, ...]
    error_before: float | None
    error_after: float | None


class Diagnosis(msgspec.Struct, frozen=True):
    """Whether a run is slow, by how much, and what explains it, best first.

    What would explain it is there also where it is slower than most and not called slow.
    """

    slow: bool
    factor: float | None
    """Median measured over forecast time of the rows that decided; None without rows."""
    causes: tuple[Explained, ...] = ()
    reach: float = 0.0
    """How often the width of its band the middle row lies off."""
    shown: bool = False
    """Whether something that was set, or the curve's own shape, shows that it is slow."""


def attribute(run: Run, rows: Measured) -> Diagnosis:
    """What is to be said of the measured rows of a run; at most three causes, each code once."""
    if not len(rows):
        return _unmeasured(run)
    decisive = _deciding(rows)
    expected = run.times(decisive)
    if expected is None:
        return Diagnosis(False, None)
    lag = np.log(decisive.time / expected)
    low, high = run.bands(decisive)
    factor = float(np.exp(np.median(lag)))
    fall = _fall_from(run, decisive)
    reach = float(np.median(lag / np.maximum(np.log(high), LEAST)))
    shown = fall is not None or _borne_out(run, decisive, lag)
    slow = shown or reach > REACH
    if not (slow or reach > 1):
        return Diagnosis(False, factor, reach=reach)
    width = np.hypot(np.log(high / low) / (2 * _QUANTILE), _FAULTY)
    weighed = [_weighed(run, decisive, guess, lag, width) for guess in hypotheses(run)]
    if fall is not None:
        weighed.append(_congested(run, decisive, fall, lag, width))
    return Diagnosis(slow, factor, _best(weighed), reach, shown)


def _unmeasured(run: Run) -> Diagnosis:
    """Of a run without figures: slow where what was set is ruinous by the forecast."""
    operation = run.collective.operation
    size = COPY_PLATEAU if operation in COPIES else PLATEAU
    large = Measured(np.array([size]), np.ones(1), np.zeros(1, np.bool_))
    costs = {entry.cause: _cost(run, large, entry.changes) for entry in _blamable(run)}
    blamed = [entry for entry in _blamable(run) if costs[entry.cause] > np.log1p(RUINOUS)]
    blamed.sort(key=lambda entry: -costs[entry.cause])
    causes = tuple(
        Explained(entry.cause, tuple(map(str, entry.changes)), None, None) for entry in blamed
    )
    return Diagnosis(bool(causes), None, causes[:MOST], shown=bool(causes))


def _deciding(rows: Measured) -> Measured:
    """The large rows; where there are none the middle ones, else the small."""
    classes = np.array([size_class(size) for size in rows.size.tolist()])
    largest = next(kind for kind in reversed(SizeClass) if (classes == kind).any())
    return rows.where(classes == largest)


def _blamable(run: Run) -> list[Stated]:
    """What was stated, but the algorithm: that is the question, not a fault."""
    return [entry for entry in run.stated if entry.cause != ASKED]


def _borne_out(run: Run, rows: Measured, lag: Floats) -> bool:
    """Whether a stated setting costs speed by the forecast, and the rows are nearer to it."""
    return any(
        cost > np.log1p(COST) and float(np.median(lag)) > cost / 2
        for entry in _blamable(run)
        for cost in (_cost(run, rows, entry.changes),)
    )


def _cost(run: Run, rows: Measured, changes: tuple[Change, ...]) -> float:
    """[log] how much longer the forecast is under changes; 0 where it cannot run."""
    expected, changed = run.times(rows), run.times(rows, changes)
    if expected is None or changed is None:
        return 0.0
    return float(np.median(np.log(changed / expected)))


def _fall_from(run: Run, rows: Measured) -> int | None:
    """The size [B] from which on bandwidth has fallen for good where a network should keep it."""
    if run.platform is not Platform.NETWORK:
        return None
    sizes = np.unique(rows.size)
    rate = np.array([(size / rows.time[rows.size == size]).max() for size in sizes])
    falls = (
        int(sizes[k])
        for k in range(1, len(sizes) - 1)
        if rate[k:].max() * COLLAPSE < rate[:k].max()
    )
    return next(falls, None)


class _Weighed(msgspec.Struct, frozen=True):
    """A score, the lower the better, what it stands for, and whether the rows are near to it."""

    score: float
    entry: Explained
    fits: bool = True


def _weighed(run: Run, rows: Measured, guess: Hypothesis, lag: Floats, width: Floats) -> _Weighed:
    """The score of a hypothesis; infinite where it cannot be or makes nothing slower."""
    times = run.times(rows, guess.changes)
    texts = tuple(str(change) for change in guess.changes)
    if times is None:
        return _Weighed(np.inf, Explained(guess.cause, texts, None, None))
    left = np.log(rows.time / times)
    after = _error(left) if guess.changes else None
    entry = Explained(guess.cause, texts, _error(lag), after)
    score = -float(np.log(guess.weight))
    if guess.open:
        # The slow-down is whatever the rows say, at the price of not having foretold it.
        shift = float(np.median(left))
        score += _surprise(left - shift, width)
        score += float(np.log(_WIDEST / (np.median(width) * np.sqrt(2 * np.pi))))
        # Who set it knows that it is set: then it may also cost less than the forecast says.
        slower = shift > 0 or (guess.weight >= STATED / 2 and float(np.median(lag)) > 0)
        return _Weighed(score if slower else np.inf, entry)
    nearer = abs(float(np.median(left))) < abs(float(np.median(lag)))
    if not nearer or float(np.median(lag - left)) <= np.log1p(COST) / 2:
        return _Weighed(np.inf, entry)
    fits = float(np.median(np.abs(left) / width)) <= _NEAR
    return _Weighed(score + _surprise(left, width), entry, fits)


def _congested(run: Run, rows: Measured, size: int, lag: Floats, width: Floats) -> _Weighed:
    """The score of congestion: what lies before the fall and what after it, each by itself.

    With a single NIC a node there is no other way that its flows could be sent.
    """
    after = rows.size >= size
    level = np.where(after, np.median(lag[after]), np.median(lag[~after]))
    stated = any(entry.cause == CONGESTION for entry in run.stated)
    weight = STATED if stated else HINTED if len(rails(run)) > 1 else RARE
    entry = Explained(CONGESTION, (), _error(lag[after]), None)
    return _Weighed(_surprise(lag - level, width) - float(np.log(weight)), entry)


def _surprise(left: Floats, width: Floats) -> float:
    """How badly residuals fit, with heavy tails: one number whatever the number of rows."""
    distance = float(np.mean((left / width) ** 2))
    return (_FREEDOM + 1) / 2 * float(np.log1p(distance / _FREEDOM))


def _error(lag: Floats) -> float:
    return float(np.expm1(-np.median(lag)))


def _best(weighed: list[_Weighed]) -> tuple[Explained, ...]:
    """Each cause once, best first: those that fit, or where none does the nearest."""
    found: dict[str, Explained] = {}
    order = sorted((w for w in weighed if np.isfinite(w.score)), key=lambda w: w.score)
    for one in [w for w in order if w.fits] or order[:1]:
        found.setdefault(one.entry.cause, one.entry)
    return tuple(found.values())[:MOST]
