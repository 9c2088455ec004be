# SPDX-License-Identifier: Apache-2.0
"""The scheduling API: loop order, tiles, vectors, threads, buffers, fusion."""

from xtc.schedule.node import NodeSchedule
from xtc.schedule.schedule import Schedule, given_schedule, schedule_texts

__all__ = ["NodeSchedule", "Schedule", "given_schedule", "schedule_texts"]
