# SPDX-License-Identifier: Apache-2.0
"""The wafers as data, every number with its source.

"tutorials" are the public tutorials of the vendor's SDK, "documentation" its language reference.
Numbers without a public source are marked "assumed" and listed in docs/wse-semantics.md.
"""

from __future__ import annotations

from dataclasses import dataclass

SRAM_BYTES = 48 << 10
"""SRAM of a PE (Hot Chips 34; documentation)."""
MEMCPY_BYTES = 4176
"""SRAM that memcpy's code uses (measured by others on the WSE-3 simulator)."""
COLORS = 24
"""Routable colors, 0 to 23 (documentation)."""


@dataclass(frozen=True)
class Architecture:
    """One generation of the machine.

    Attributes:
        name: its name in `--arch` and `@is_arch`.
        data_tasks_by_queue: whether a data task's id is that of its input queue, not of its color.
        hop_cycles: cycles from router to router.
        ramp_cycles: cycles between router and core (assumed).
        link_buffer: capacity of a router's input per color, in wavelets (assumed).
        input_queues, output_queues: capacity of each queue in wavelets.
        microthreads: maximum number of concurrent asynchronous operations.
        first_local_task: the lowest id of a local task.
    """

    name: str
    number: int
    data_tasks_by_queue: bool
    hop_cycles: int
    ramp_cycles: int
    link_buffer: int
    input_queues: tuple[int, ...]
    output_queues: tuple[int, ...]
    microthreads: int
    first_local_task: int

    def ids(self, kind: str) -> range:
        """The valid numbers of a kind of handle."""
        return {
            "color": range(COLORS),
            "local_task_id": range(self.first_local_task, 31),
            "data_task_id": range(len(self.input_queues) if self.data_tasks_by_queue else COLORS),
            "control_task_id": range(64),
            "input_queue": range(len(self.input_queues)),
            "output_queue": range(len(self.output_queues)),
            "ut_id": range(self.microthreads),
        }.get(kind, range(16))


WSE2 = Architecture(
    "wse2",
    2,
    data_tasks_by_queue=False,
    hop_cycles=1,  # arXiv 2404.15888
    ramp_cycles=1,
    link_buffer=4,
    input_queues=(6, 6, 4, 4, 2, 2, 2, 2),  # language documentation, fabric queues
    output_queues=(2, 2, 6, 6, 2, 2),  # the same
    microthreads=8,  # the number of a queue is that of its microthread (tutorials)
    first_local_task=0,
)
WSE3 = Architecture(
    "wse3",
    3,
    data_tasks_by_queue=True,
    hop_cycles=2,  # log lines of tutorial topic-13, confirmed by other measurements
    ramp_cycles=1,
    link_buffer=4,
    input_queues=(8, 8, 4, 4, 4, 4, 4, 4),  # language documentation, fabric queues
    output_queues=(8,) * 8,  # the same: the default lengths
    microthreads=8,
    first_local_task=8,
)
ARCHITECTURES = {each.name: each for each in (WSE2, WSE3)}
DEFAULT = WSE3
"""The architecture that `cslc` compiles for without `--arch`."""
