# SPDX-License-Identifier: Apache-2.0
"""Search for fast schedules: strategies, samplers, sandboxed measurement, and the database."""

from xtc.search.records import STATUSES, Result, Run
from xtc.search.session import Session, Settings, tune
from xtc.search.store import Store

__all__ = ["STATUSES", "Result", "Run", "Session", "Settings", "Store", "tune"]
