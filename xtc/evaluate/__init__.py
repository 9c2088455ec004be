# SPDX-License-Identifier: Apache-2.0
"""Checks results and measures time, for all targets."""

from xtc.evaluate.compare import Comparison, MismatchError, compare
from xtc.evaluate.counter_names import COUNTERS
from xtc.evaluate.counters import Counters, CountersUnavailable, available_counters
from xtc.evaluate.data import sample
from xtc.evaluate.measure import Measurement, measure
from xtc.evaluate.timing import Timing, time_calls
from xtc.evaluate.tolerances import default_tolerances, rounding_noise

__all__ = [
    "COUNTERS",
    "Comparison",
    "Counters",
    "CountersUnavailable",
    "Measurement",
    "MismatchError",
    "Timing",
    "available_counters",
    "compare",
    "default_tolerances",
    "measure",
    "rounding_noise",
    "sample",
    "time_calls",
]
