# SPDX-License-Identifier: Apache-2.0
"""The reason why a pass leaves a kernel unchanged."""

from __future__ import annotations

from xtc.ir.builders.tile import location_text
from xtc.ir.mlir import Operation


class Declined(Exception):  # noqa: N818  not a mistake of the user's
    """Raised if a pass leaves a kernel unchanged because of an operation."""

    def __init__(self, why: str, op: Operation) -> None:
        super().__init__(why)
        self.why, self.where = why, location_text(op.location)
