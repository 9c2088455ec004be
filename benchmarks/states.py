# SPDX-License-Identifier: Apache-2.0
"""A cache of keys and values as a state, which a call updates in place, and as inputs and outputs.

`make bench-states`. Both compute the attention of one new token to the earlier ones, as a layer of
GPT-2 does. The copying form returns keys and values that are one token longer; the other form
writes one row.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from benchmarks.networks.layers import attend
from xtc.evaluate.units import seconds_text
from xtc.graph.tensor import Tensor

HEADS, PART = 12, 64
LENGTHS = (128, 512, 2048)
"""Number of tokens in the cache before the call."""
_CALLS, _ROUNDS = 20, 15


def _token() -> list[Tensor]:
    return [O.tensor((HEADS, 1, PART), name=name) for name in ("q", "k", "v")]


def copying(past: int) -> xtc.Graph:
    """Keys and values are inputs, and outputs that are one token longer."""
    q, *new = _token()
    old = [O.tensor((HEADS, past, PART), name=name) for name in ("keys", "values")]
    with O.graph(name="copying") as gb:
        O.inputs(q, *new, *old)
        keys, values = (O.concat(*pair, axis=1) for pair in zip(old, new, strict=True))
        O.outputs(attend(q, keys, values), keys, values)
    return gb.graph


def in_place(past: int) -> xtc.Graph:
    """States with one more row than `past`; the call writes one row."""
    q, *new = _token()
    position = O.tensor((1, 1, 1), "int64", name="position")
    shape = (HEADS, past + 1, PART)
    old = [O.tensor(shape, name=name, state=True) for name in ("keys", "values")]
    rows = O.tensor((1, 1, past + 1), "int64", const=np.arange(past + 1).reshape(1, 1, -1))
    with O.graph(name="in_place") as gb:
        O.inputs(q, *new, position)
        at = O.expand(position, (HEADS, 1, PART))
        pairs = zip(old, new, strict=True)
        keys, values = (O.scatter_elements(x, at, row, axis=1) for x, row in pairs)
        hidden = O.mul(O.cast(O.greater(rows, position), "float32"), -1e9)
        O.outputs(attend(q, keys, values, hidden))
        O.update(old[0], keys)
        O.update(old[1], values)
    return gb.graph


def measure(past: int, threads: int) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds per call of each form, and the bytes of its results and temporary arrays."""
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, HEADS, 1, PART), np.float32)
    old = rng.standard_normal((2, HEADS, past, PART), np.float32)
    caches = [np.concatenate([x, np.zeros((HEADS, 1, PART), np.float32)], 1) for x in old]
    position = np.full((1, 1, 1), past)
    with (
        xtc.compile(copying(past), threads=threads) as first,
        xtc.compile(in_place(past), threads=threads) as second,
    ):
        results, result = (
            list(first(q, k, v, *old)),
            second(q, k, v, position, keys=caches[0], values=caches[1]),
        )
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(caches, results[1:])
        calls: dict[str, Callable[[], object]] = {
            "copying": lambda: first(q, k, v, *old, out=results),
            "in place": lambda: second(
                q, k, v, position, keys=caches[0], values=caches[1], out=result
            ),
        }
        written = {"copying": [*results], "in place": [result, k, v]}
        modules = {"copying": first, "in place": second}
        sizes = {
            form: sum(array.nbytes for array in arrays)
            + int(modules[form].artifact.manifest.toolchain.get("arena_bytes", 0))
            for form, arrays in written.items()
        }
        return _in_turns(calls), sizes


def _in_turns(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median seconds per call, over interleaved rounds."""
    found: dict[str, list[float]] = {form: [] for form in calls}
    for _ in range(_ROUNDS):
        for form, call in calls.items():
            start = time.perf_counter()
            for _ in range(_CALLS):
                call()
            found[form].append((time.perf_counter() - start) / _CALLS)
    return {form: statistics.median(seconds) for form, seconds in found.items()}


def main() -> None:
    """Print the table."""
    table = Table(title=f"attention of a new token, {HEADS} heads of {PART}: a call, bytes written")
    for heading in ("tokens", "threads", "copying", "in place", "copying / in place"):
        table.add_column(heading, justify="right")
    table.add_column("bytes: copying", justify="right")
    table.add_column("in place", justify="right")
    for past in LENGTHS:
        for threads in (1, 2):
            seconds, sizes = measure(past, threads)
            times = [seconds_text(seconds[form]) for form in ("copying", "in place")]
            ratio = f"{seconds['copying'] / seconds['in place']:.2f}"
            written = [f"{sizes[form]:,}" for form in ("copying", "in place")]
            table.add_row(f"{past:,}", str(threads), *times, ratio, *written)
    wide_console().print(table)


if __name__ == "__main__":
    main()
