# SPDX-License-Identifier: Apache-2.0
"""Matmuls of few rows with weights of 32, 16, 8 and 4 bits, which memory bandwidth limits.

`make bench-weights`. A row is a form of the same weights; GB/s counts its stored bytes. ONNX
Runtime, for comparison, multiplies in float32, and with MatMulNBits in 8 and 4 bits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ml_dtypes
import numpy as np
from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from benchmarks.harness import cpu_model, run_interleaved
from xtc.evaluate.units import seconds_text

Array = np.ndarray[Any, Any]
Call = Callable[[], None]

_GROUP = 32  # rows of weights with one scale
_BITS = {"float32": 32, "bfloat16": 16, "float16": 16, "8 bits": 8, "4 bits": 4}
_NARROW = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def _codes(depth: int, columns: int, bits: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1 << bits, (depth, columns)).astype(np.uint8)
    return codes, rng.random((depth // _GROUP, columns), np.float32) * np.float32(0.01)


def _weights(form: str, depth: int, columns: int) -> Any:
    """The weights of one form, as a tensor of a graph."""
    bits = _BITS[form]
    if bits <= 8:
        return O.coded_weights(*_codes(depth, columns, bits), bits=bits)
    values = np.random.default_rng(0).standard_normal((depth, columns), np.float32)
    stored = values.astype(_NARROW.get(form, np.float32))
    weights = O.tensor(stored.shape, form, const=stored)
    return weights if form == "float32" else O.cast(weights, "float32")


def ours(form: str, shape: tuple[int, int, int], threads: int) -> Call:
    """A call of the matmul by xtc."""
    rows, columns, depth = shape
    with O.graph(name="product") as gb:
        O.matmul(O.tensor((rows, depth), name="x"), _weights(form, depth, columns))
    module = xtc.compile(gb.graph, threads=threads)
    x = np.ones((rows, depth), np.float32)
    result = np.empty((rows, columns), np.float32)
    call = module.host.load(module.artifact).bind([x.ctypes.data, result.ctypes.data])

    def run(_alive: object = (x, result, module)) -> None:
        call()

    return run


def onnx_runtime(form: str, shape: tuple[int, int, int], threads: int) -> Call | None:
    """A call by ONNX Runtime; None if it does not support the form on a CPU."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    rows, columns, depth = shape
    if _BITS[form] == 16:
        return None
    if form == "float32":
        values = np.random.default_rng(0).standard_normal((depth, columns), np.float32)
        constants = [numpy_helper.from_array(values, "w")]
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
    else:
        bits = _BITS[form]
        codes, scales = _codes(depth, columns, bits)
        parts = codes.T.reshape(columns, depth // _GROUP, _GROUP)
        stored = parts if bits == 8 else parts[..., ::2] | parts[..., 1::2] << 4
        constants = [
            numpy_helper.from_array(np.ascontiguousarray(stored), "w"),
            numpy_helper.from_array(np.ascontiguousarray(scales.T), "s"),
        ]
        attributes = {"K": depth, "N": columns, "bits": bits, "block_size": _GROUP}
        node = helper.make_node(
            "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes
        )
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, size)
        for name, size in (("x", [rows, depth]), ("y", [rows, columns]))
    ]
    graph = helper.make_graph([node], "product", given[:1], given[1:], constants)
    domains = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        helper.make_model(graph, opset_imports=domains, ir_version=10).SerializeToString(), options
    )
    feeds = {"x": np.ones((rows, depth), np.float32)}
    return lambda: session.run(None, feeds)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--columns", type=int, default=8192)
    parser.add_argument("--depth", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    shape = (args.rows, args.columns, args.depth)
    peers = {"xtc": ours, "onnxruntime": onnx_runtime}
    calls = {
        f"{name} {form}": call
        for form in _BITS
        for name, make in peers.items()
        if (call := make(form, shape, args.threads)) is not None
    }
    report = run_interleaved("weights", calls, baseline="xtc float32", rounds=args.rounds)
    table = Table(title=f"{'x'.join(map(str, shape))}, {args.threads} threads, {cpu_model()}")
    for heading in ("weights", "xtc", "GB/s", "float32 / this", "ONNX Runtime / xtc"):
        table.add_column(heading, justify="left" if heading == "weights" else "right")
    wide = report.timings["xtc float32"].median
    for form, bits in _BITS.items():
        time = report.timings[f"xtc {form}"].median
        peer = report.timings.get(f"onnxruntime {form}")
        rate = args.columns * args.depth * bits / 8 / time / 1e9
        ratio = "" if peer is None else f"{peer.median / time:.2f}"
        table.add_row(form, seconds_text(time), f"{rate:.1f}", f"{wide / time:.2f}", ratio)
    wide_console().print(table)


if __name__ == "__main__":
    main()
