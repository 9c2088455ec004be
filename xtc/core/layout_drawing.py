# SPDX-License-Identifier: Apache-2.0
"""Draws register layouts as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.core.tile_layout import RegisterLayout

_MOST_ROWS, _MOST_COLUMNS = 16, 16


def drawn(layout: RegisterLayout) -> str:
    """The first rows and columns of a layout, with thread and position of each element.

    `5.2` is element 2 of thread 5; a star after the thread marks elements that others hold too.
    """
    shape = (1,) * (2 - len(layout.shape)) + layout.shape
    cells: dict[tuple[int, ...], str] = {}
    for thread in range(layout.spatial_size):
        for position in range(layout.local_size):
            index = layout.element(thread, position)
            if all(number < _MOST_COLUMNS for number in index):
                cell = cells.get(index)
                cells[index] = f"{thread}.{position}" if cell is None else cell.rstrip("*") + "*"
    rows = min(_MOST_ROWS, shape[-2])
    columns = min(_MOST_COLUMNS, shape[-1])
    lead = (0,) * max(0, len(layout.shape) - 2)
    lines = []
    for row in range(rows):
        location = (*lead, row) if len(layout.shape) > 1 else ()
        locations = [(*location, column) for column in range(columns)]
        line = [cells[index] for index in locations]
        lines.append(" ".join(f"{cell:>7}" for cell in line))
    more = "" if (rows, columns) == shape[-2:] else f" (the first {rows} x {columns})"
    return "\n".join([f"{layout}{more}", *lines])
