# SPDX-License-Identifier: Apache-2.0
"""Say how operators run: loop order, tiles, vectors, threads, buffers, fusion."""

from xtc.schedule.node import NodeSchedule
from xtc.schedule.schedule import Schedule, given_schedule, schedule_texts

__all__ = ["NodeSchedule", "Schedule", "given_schedule", "schedule_texts"]
