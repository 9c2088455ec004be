# SPDX-License-Identifier: Apache-2.0
"""The portable counters of Linux, and their encoding for the kernel.

Numbers are from include/uapi/linux/perf_event.h. Events that occur only inside the kernel are
counted there, which perf_event_paranoid must allow; all others count user mode only.
"""

from __future__ import annotations

from xtc.evaluate.perf_event import TYPE_HARDWARE, TYPE_HW_CACHE, TYPE_SOFTWARE, Event


def _cache(cache: int, operation: int, miss: bool) -> Event:
    return Event(TYPE_HW_CACHE, cache | operation << 8 | miss << 16)


_READ, _WRITE, _PREFETCH = 0, 1, 2
_L1D, _L1I, _LLC, _DTLB, _ITLB, _BRANCH_UNIT, _NODE = range(7)

COUNTERS: dict[str, Event] = {
    "cycles": Event(TYPE_HARDWARE, 0),
    "instructions": Event(TYPE_HARDWARE, 1),
    "cache_references": Event(TYPE_HARDWARE, 2),
    "cache_misses": Event(TYPE_HARDWARE, 3),
    "branches": Event(TYPE_HARDWARE, 4),
    "branch_misses": Event(TYPE_HARDWARE, 5),
    "bus_cycles": Event(TYPE_HARDWARE, 6),
    "stalled_cycles_frontend": Event(TYPE_HARDWARE, 7),
    "stalled_cycles_backend": Event(TYPE_HARDWARE, 8),
    "reference_cycles": Event(TYPE_HARDWARE, 9),
    "L1D_reads": _cache(_L1D, _READ, False),
    "L1D_read_misses": _cache(_L1D, _READ, True),
    "L1D_writes": _cache(_L1D, _WRITE, False),
    "L1D_write_misses": _cache(_L1D, _WRITE, True),
    "L1D_prefetches": _cache(_L1D, _PREFETCH, False),
    "L1I_read_misses": _cache(_L1I, _READ, True),
    "LLC_reads": _cache(_LLC, _READ, False),
    "LLC_read_misses": _cache(_LLC, _READ, True),
    "LLC_writes": _cache(_LLC, _WRITE, False),
    "LLC_write_misses": _cache(_LLC, _WRITE, True),
    "DTLB_reads": _cache(_DTLB, _READ, False),
    "DTLB_read_misses": _cache(_DTLB, _READ, True),
    "DTLB_write_misses": _cache(_DTLB, _WRITE, True),
    "ITLB_read_misses": _cache(_ITLB, _READ, True),
    "branch_unit_reads": _cache(_BRANCH_UNIT, _READ, False),
    "node_reads": _cache(_NODE, _READ, False),
    "node_read_misses": _cache(_NODE, _READ, True),
    "task_clock": Event(TYPE_SOFTWARE, 1),
    "page_faults": Event(TYPE_SOFTWARE, 2),
    "minor_page_faults": Event(TYPE_SOFTWARE, 5),
    "major_page_faults": Event(TYPE_SOFTWARE, 6),
    "context_switches": Event(TYPE_SOFTWARE, 3, in_kernel=True),
    "migrations": Event(TYPE_SOFTWARE, 4, in_kernel=True),
}
"""Every counter by name."""

UNITS = {"task_clock": "ns"}
"""The units of counters that do not count events."""
