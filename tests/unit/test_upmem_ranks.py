# SPDX-License-Identifier: Apache-2.0
"""Each rank runs a graph's jobs in order, and computes while another one copies."""

from __future__ import annotations

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.toolchain.clang import unavailable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]

DPUS, IN_RANK = 66, 64


def _rows(heavy: slice, each: int) -> np.ndarray:
    """Rows for each DPU, with the most expensive ones for `heavy`: a multiplication takes a step
    per bit."""
    rows = np.zeros((DPUS, each, 128), np.int32)
    rows[heavy] = 0x5A5A5A5A
    return rows.reshape(DPUS * each, 128)


def test_ranks_do_not_wait_for_each_other() -> None:
    first, second = slice(0, IN_RANK), slice(IN_RANK, DPUS)
    a, b = (O.tensor((n * DPUS, 128), "int32", name=f"a{n}") for n in (1, 2))
    v, w = (O.tensor((128, 4), "int32", name=name) for name in "vw")
    weights = np.full((128, 4), 0x7FFFFFFF, np.int32)
    with UpmemDevice(nr_dpus=DPUS) as dpus:
        with O.graph(name="two") as graph:
            O.matmul(a, v, name="X", device=dpus)
            O.matmul(b, w, name="Y", device=dpus)
        with xtc.compile(graph.graph, target=dpus) as module:

            def run(x: slice, y: slice) -> tuple[dict[str, float], int]:
                before = dpus.counters()
                given = [_rows(x, 1), _rows(y, 2)]
                found = module(*given, weights, weights)
                for result, rows in zip(found, given, strict=True):
                    assert np.array_equal(np.asarray(result), rows @ weights)
                after = dpus.counters()
                difference = {name: after[name] - before[name] for name in after}
                return difference, round(difference.pop("modelled.upmem.SECONDS") * 1e8)

            run(first, first)  # loads the program
            same, joined = run(first, first)
            crossed, overlapped = run(first, second)
            assert run(first, second) == (crossed, overlapped)
    assert same["upmem.LAUNCHES"] == crossed["upmem.LAUNCHES"] == 2
    # Each launch has a slow DPU, as before, but no rank has two of them.
    assert crossed["modelled.upmem.CYCLES"] == same["modelled.upmem.CYCLES"]
    assert overlapped < joined
