# SPDX-License-Identifier: Apache-2.0
"""fuse-rows: tiles an operation by rows and fuses its producers into the tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import functions
from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.tensor._overwrite import overwrite_inputs
from xtc_targets.host.passes._row_groups import Limits, row_groups


@dataclass(frozen=True)
class FuseRows(Pass):
    """Tile the leading dimensions of a result and fuse the producers that lead to it.

    A producer joins if only members read it, and if they index each tiled dimension by the tile
    loop: every iteration then needs distinct rows, and nothing is computed twice. It must run on
    the same device and have no schedule from the user. An intermediate tensor shrinks to a tile, or
    vanishes if its consumer can overwrite it. An operand that several members read, as in a layer
    normalization, is read from memory once. A single operation is tiled if every row reads the same
    operand again, as in a matmul, or if it reduces along rows.

    Before:
        %m = linalg.matmul ins(%a, %b)
        %r = linalg.generic ins(%m) { arith.maximumf }
    After:
        %r = scf.for %i = 0 to 512 step 8 { linalg.matmul on 8 rows; linalg.generic on 8 rows }

    Attributes:
        rows: rows of a tile, unless rows are too short for a loop over tiles to pay.
        bytes: largest size of an intermediate tile; if one row is larger, the next dimension is
            tiled as well.
        shared: most bytes of operands that every tile reads in whole, such as the weights of
            several matmuls; they stay in the second-level cache.
        parallel: whether threads share the tiles of large tensors, even of a single operation.
        lanes: least rows of a tile that reduces along rows: each row is a lane of a vector.
    """

    name: ClassVar[str] = "fuse-rows"
    rows: int = 8
    bytes: int = 65536
    shared: int = 1 << 20
    parallel: bool = False
    lanes: int = 1

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        limits = Limits(self.rows, self.bytes, self.shared, self.parallel, self.lanes)
        with module.context:
            for view in functions(module):
                for group in row_groups(view, limits):
                    overwrite_inputs(view, group.members)
                    if group.sizes:
                        group.rewrite()
