# SPDX-License-Identifier: Apache-2.0
"""Draws loop nests before and after a schedule, for docs/schedule.md.

The drawings are computed from schedules, by the calls that the page describes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import xtc
import xtc.ops as O
from tools.nest_order import Block, blocks, packed_tile
from xtc.drawing.svg_parts import escaped, marker, number, rectangle, text_at, text_width
from xtc.drawing.svg_style import HOST_CLASS, SCOPE, device_class, style_sheet
from xtc.loops import Nest
from xtc.schedule import NodeSchedule

SIZE = 8
CELL = 20.0
MARGIN = 24.0
LINE = 14.0
INDENT = 9.0
_COLORS = ("0", "1", "2", "3")
_STYLE = f"""\
.{SCOPE} .code{{font:10.5px ui-monospace,Menlo,Consolas,'Liberation Mono',monospace;fill:#1d2430}}
.{SCOPE} .cell{{font-size:8px;text-anchor:middle;fill:#5b6575}}
.{SCOPE} .order{{fill:none;stroke:#1d2430;stroke-width:1;stroke-opacity:.75}}
@media (prefers-color-scheme:dark){{
.{SCOPE} .code{{fill:#e8ecf2}}
.{SCOPE} .cell{{fill:#a5afbd}}
.{SCOPE} .order{{stroke:#e8ecf2}}
}}
"""


@dataclass(frozen=True)
class Panel:
    """One grid of the picture, with a line above and lines of code below.

    Attributes:
        title: the title of the grid.
        rows: name of the axis from top to bottom.
        columns: name of the axis from left to right.
        shape: number of rows and columns.
        blocks: the blocks on the grid, each with its color: 0 or more, or None.
        ordered: whether an arrow follows the blocks.
        code: below the grid.
        texts: the text of cells, by row and column.
    """

    title: str
    rows: str
    columns: str
    shape: tuple[int, int]
    blocks: Sequence[tuple[Block, int | None]]
    ordered: bool
    code: Sequence[str]
    texts: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def width(self) -> float:
        lines = [len(line) * 6.4 + INDENT for line in self.code]
        return max([CELL * self.shape[1] + 16, text_width(self.title, "heading"), *lines])

    @property
    def height(self) -> float:
        return 36 + CELL * self.shape[0] + 22 + LINE * len(self.code)


def matmul_schedule() -> NodeSchedule:
    """The schedule of a matmul of two 8 x 8 matrices."""
    a, b = O.tensor((SIZE, SIZE), name="A"), O.tensor((SIZE, SIZE), name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return xtc.Schedule(gb.graph)["C"]


def tiling() -> str:
    """strip_mine and interchange: the order in which elements of the result are visited."""
    after = matmul_schedule().strip_mine("i", {"i1": 4}).strip_mine("j", {"j1": 4})
    after.interchange(["j", "i", "k", "i1", "j1"])
    panels = [_order("before", matmul_schedule()), _order("after", after)]
    return _svg("strip_mine and interchange: elements of C in the order of iterations", panels)


def vectors() -> str:
    """vectorize: elements that are computed together."""
    before = matmul_schedule().strip_mine("j", {"j1": 4})
    after = matmul_schedule().strip_mine("j", {"j1": 4}).vectorize(["j1"])
    panels = [_order("before", before), _order("after", after)]
    return _svg("vectorize: elements of C that one instruction computes", panels)


def packing() -> str:
    """pack_at: the location in memory of the elements that the inner loops read."""
    after = matmul_schedule().strip_mine("j", {"j1": 4}).interchange(["j", "i", "k", "j1"])
    before = str(after)
    after.pack_at("j", 1)
    tile = packed_tile(after.nest, "k", "j")
    panels = [
        _memory("before: B, its tile in color", tile, SIZE, before),
        _memory("after: the buffer", tile, tile.columns, str(after)),
    ]
    return _svg("pack_at: addresses of the elements of B that the loop over i reads", panels)


PICTURES: dict[str, Callable[[], str]] = {
    f"docs/pictures/{draw.__name__}.svg": draw for draw in (tiling, vectors, packing)
}


def _order(title: str, schedule: NodeSchedule) -> Panel:
    found = blocks(schedule.nest, "i", "j")
    drawn = list(zip(found, _colors(schedule.nest, found), strict=True))
    return Panel(title, "i", "j", (SIZE, SIZE), drawn, True, str(schedule).splitlines())


def _colors(nest: Nest, found: Sequence[Block]) -> list[int | None]:
    """One color per tile if there are few; vectors alternate; otherwise none."""
    step = {extent.loop.axis: extent.step for extent in nest.extents() if not extent.loop.tile}
    tiles = [(tile.row // step["i"], tile.column // step["j"]) for tile in found]
    different = list(dict.fromkeys(tiles))
    if len(different) <= len(_COLORS):
        return [different.index(tile) for tile in tiles]
    vectors = any(tile.columns > 1 for tile in found)
    return [number % 2 if vectors else None for number in range(len(found))]


def _memory(title: str, tile: Block, columns: int, text: str) -> Panel:
    """The rows of `tile` in a matrix of `columns` columns, with addresses."""
    cells = list(itertools.product(range(tile.rows), range(columns)))
    drawn = [(Block(row, column), 0 if column < tile.columns else None) for row, column in cells]
    addresses = {(row, column): str(row * columns + column) for row, column in cells}
    return Panel(title, "k", "j", (tile.rows, columns), drawn, False, text.splitlines(), addresses)


def _svg(title: str, panels: Sequence[Panel]) -> str:
    width = sum(panel.width for panel in panels) + MARGIN * (len(panels) + 1) + 12
    width = max(width, text_width(title, "title") + 2 * MARGIN)
    height = max(panel.height for panel in panels) + 2 * MARGIN + 24
    return "\n".join([*_document(title, panels, width, height), "</svg>"]) + "\n"


def _document(title: str, panels: Sequence[Panel], width: float, height: float) -> Iterator[str]:
    size = f'width="{number(width)}" height="{number(height)}"'
    box = f'viewBox="0 0 {number(width)} {number(height)}"'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE}" {size} {box} role="img">'
        "<!-- Made by `make docs`: change tools/nest_pictures.py instead. -->"
    )
    yield f"<title>{escaped(title)}</title>"
    yield f"<style>{style_sheet(_COLORS)}{_STYLE}</style>"
    yield f"<defs>{marker('arrow', 'tip')}</defs>"
    card = f'width="{number(width - 1)}" height="{number(height - 1)}" rx="12"'
    yield f'<rect class="card" x="0.5" y="0.5" {card}/>'
    yield text_at(title, "title", MARGIN, MARGIN + 14)
    left = MARGIN
    for panel in panels:
        yield f'<g transform="translate({number(left)} {number(MARGIN + 36)})">'
        yield from _panel(panel)
        yield "</g>"
        left += panel.width + MARGIN + 12


def _panel(panel: Panel) -> Iterator[str]:
    rows, _ = panel.shape
    yield text_at(panel.title, "label", 16, 10)
    yield text_at(f"{panel.columns} →", "label", 16, 26)
    yield text_at(f"{panel.rows} ↓", "label", 0, 44)
    yield '<g transform="translate(16 32)">'
    for block, color in panel.blocks:
        kind = HOST_CLASS if color is None else device_class(color)
        x, y = block.column * CELL + 1, block.row * CELL + 1
        shape = rectangle("box", x, y, block.columns * CELL - 2, block.rows * CELL - 2, 3)
        yield f'<g class="{kind}">{shape}</g>'
    for (row, column), text in panel.texts.items():
        yield text_at(text, "cell", (column + 0.5) * CELL, (row + 0.5) * CELL + 3)
    if panel.ordered:
        yield _path([block for block, _ in panel.blocks])
    yield "</g>"
    for row, line in enumerate(panel.code):
        depth = (len(line) - len(line.lstrip())) // 2
        y = 36 + CELL * rows + 18 + LINE * row
        yield text_at(line.strip(), "code", 16 + INDENT * depth, y)


def _path(found: Sequence[Block]) -> str:
    """A line through the centers of the blocks, with an arrowhead at its end."""
    middles = (
        f"{number((block.column + block.columns / 2) * CELL)} "
        f"{number((block.row + block.rows / 2) * CELL)}"
        for block in found
    )
    return f'<path class="order" d="M{"L".join(middles)}" marker-end="url(#arrow)"/>'
