# SPDX-License-Identifier: Apache-2.0
"""This project, with the fastest schedule that a search has found for the graph on this machine."""

from __future__ import annotations

from xtc import UserError

from .call import Array, Call, Unsupported, Workload
from .ours import compiled


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The compiled graph. Raises Unsupported if nothing was tuned for it."""
    try:
        return compiled(workload, arrays, schedule="tuned", threads=threads)
    except UserError as error:
        raise Unsupported(error.what) from error
