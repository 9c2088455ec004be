# SPDX-License-Identifier: Apache-2.0
"""Compares random ONNX graphs, compiled by this project, with ONNX Runtime.

    python tools/onnx_random.py [--count 200] [--seed 0] [--opt-level 3]

A graph whose results ONNX Runtime itself finds infinite or NaN is not compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

helper = onnx.helper
Array = np.ndarray[Any, Any]
FLOAT = onnx.TensorProto.FLOAT
_UNARY = (
    "Abs Ceil Celu Cos Elu Erf Floor HardSigmoid HardSwish LeakyRelu Neg Relu Round Selu Sigmoid "
    "Sign Sin Softplus Softsign Tanh"
).split()
_BINARY = ("Add", "Sub", "Mul", "Max", "Min")
_REDUCE = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1", "ReduceL2")


@dataclass
class Sketch:
    """A graph under construction.

    Attributes:
        rng: the generator for all choices.
        shapes: shapes of the values so far, all float32, by name.
        nodes: the nodes so far.
        constants: the constants by name.
    """

    rng: np.random.Generator
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def pick(self, fits: Callable[[tuple[int, ...]], bool] = lambda _: True) -> str | None:
        """The name of a value whose shape fits; later ones are more likely."""
        names = [name for name, shape in self.shapes.items() if fits(shape)]
        if not names:
            return None
        late = names[-4:] if self.rng.random() < 0.7 else names
        return str(self.rng.choice(late))

    def constant(self, array: Any, dtype: str = "float32") -> str:
        """The name of a new constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array, dtype)
        return name

    def add(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> None:
        """Add a node with one result of this shape."""
        if not 1 <= np.prod(shape, dtype=np.int64) <= 4096 or len(shape) > 5:
            return
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.shapes[name] = shape


def _unary(g: Sketch) -> None:
    if x := g.pick():
        g.add(str(g.rng.choice(_UNARY)), [x], g.shapes[x])


def _binary(g: Sketch) -> None:
    x = g.pick()
    if x is None:
        return
    shape = g.shapes[x]
    if g.rng.random() < 0.5:
        kept = [size if g.rng.random() < 0.6 else 1 for size in shape]
        other = g.constant(g.rng.standard_normal(kept[int(g.rng.integers(0, len(kept) + 1)) :]))
        inputs = [x, other] if g.rng.random() < 0.5 else [other, x]
        g.add(str(g.rng.choice(_BINARY)), inputs, shape)
    elif y := g.pick(lambda s: _broadcasts(s, shape)):
        g.add(str(g.rng.choice(_BINARY)), [x, y], np.broadcast_shapes(shape, g.shapes[y]))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def _reduce(g: Sketch) -> None:
    x = g.pick(lambda s: len(s) > 0)
    if x is None:
        return
    shape, op = g.shapes[x], str(g.rng.choice(_REDUCE))
    axes = sorted(g.rng.choice(len(shape), int(g.rng.integers(1, len(shape) + 1)), replace=False))
    keep = bool(g.rng.integers(2))
    kept = tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)
    numbers = [int(a) - (len(shape) if g.rng.random() < 0.3 else 0) for a in axes]
    g.add(op, [x, g.constant(numbers, "int64")], kept, keepdims=int(keep))


def _transpose(g: Sketch) -> None:
    if x := g.pick(lambda s: len(s) > 1):
        axes = [int(a) for a in g.rng.permutation(len(g.shapes[x]))]
        g.add("Transpose", [x], tuple(g.shapes[x][a] for a in axes), perm=axes)


def _reshape(g: Sketch) -> None:
    if x := g.pick():
        left = int(np.prod(g.shapes[x], dtype=np.int64))
        shape: list[int] = []
        while left > 1 and len(shape) < 4:
            factors = [n for n in range(1, left + 1) if left % n == 0]
            shape.append(int(g.rng.choice(factors)))
            left //= shape[-1]
        shape.append(left)
        g.add("Reshape", [x, g.constant(shape, "int64")], tuple(shape))


def _concat(g: Sketch) -> None:
    x = g.pick(lambda s: len(s) > 0)
    if x is None:
        return
    shape = g.shapes[x]
    axis = int(g.rng.integers(len(shape)))
    y = g.pick(
        lambda s: (
            len(s) == len(shape) and s[:axis] + s[axis + 1 :] == shape[:axis] + shape[axis + 1 :]
        )
    )
    if y:
        total = shape[axis] + g.shapes[y][axis]
        g.add("Concat", [x, y], (*shape[:axis], total, *shape[axis + 1 :]), axis=axis)


def _slice(g: Sketch) -> None:
    x = g.pick(lambda s: len(s) > 0 and max(s) > 1)
    if x is None:
        return
    shape = g.shapes[x]
    axis = int(g.rng.integers(len(shape)))
    start, stop = int(g.rng.integers(-shape[axis], shape[axis])), int(g.rng.integers(-9, 10))
    step = int(g.rng.choice([1, 1, 2, -1, -2]))
    count = len(range(*slice(start, stop, step).indices(shape[axis])))
    inputs = [x, *(g.constant([n], "int64") for n in (start, stop, axis, step))]
    g.add("Slice", inputs, (*shape[:axis], count, *shape[axis + 1 :]))


def _softmax(g: Sketch) -> None:
    if x := g.pick(lambda s: len(s) > 0):
        axis = int(g.rng.integers(-len(g.shapes[x]), len(g.shapes[x])))
        g.add(str(g.rng.choice(["Softmax", "LogSoftmax"])), [x], g.shapes[x], axis=axis)


def _matmul(g: Sketch) -> None:
    if x := g.pick(lambda s: len(s) > 1):
        columns = int(g.rng.integers(1, 7))
        weight = g.constant(g.rng.standard_normal((g.shapes[x][-1], columns)) / 2)
        g.add("MatMul", [x, weight], (*g.shapes[x][:-1], columns))


def _gather(g: Sketch) -> None:
    if x := g.pick(lambda s: len(s) > 0):
        shape = g.shapes[x]
        axis = int(g.rng.integers(len(shape)))
        positions = g.rng.integers(-shape[axis], shape[axis], int(g.rng.integers(1, 5)))
        inputs = [x, g.constant(positions, "int64")]
        g.add("Gather", inputs, (*shape[:axis], len(positions), *shape[axis + 1 :]), axis=axis)


def _pad(g: Sketch) -> None:
    if x := g.pick(lambda s: len(s) > 0 and min(s) > 2):
        shape = g.shapes[x]
        pads = g.rng.integers(-1, 3, 2 * len(shape))
        mode = str(g.rng.choice(["constant", "edge", "reflect"]))
        pads = np.maximum(pads, 0) if mode != "constant" else pads
        sizes = [
            n + int(a) + int(b)
            for n, a, b in zip(shape, pads[: len(shape)], pads[len(shape) :], strict=True)
        ]
        g.add("Pad", [x, g.constant(pads, "int64")], tuple(sizes), mode=mode)


def _conv(g: Sketch) -> None:
    x = g.pick(lambda s: len(s) == 4 and s[2] > 3 and s[3] > 3)
    if x is None:
        return
    n, c, h, w = g.shapes[x]
    groups = int(g.rng.choice([d for d in (1, c) if c % d == 0]))
    filters, kernel = groups * int(g.rng.integers(1, 4)), int(g.rng.integers(1, 4))
    stride, pad = int(g.rng.integers(1, 3)), int(g.rng.integers(0, 2))
    weight = g.constant(g.rng.standard_normal((filters, c // groups, kernel, kernel)) / 2)
    bias = g.constant(g.rng.standard_normal(filters))
    sizes = [(size + 2 * pad - kernel) // stride + 1 for size in (h, w)]
    more = {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups}
    g.add("Conv", [x, weight, bias], (n, filters, *sizes), **more)


def _pool(g: Sketch) -> None:
    x = g.pick(lambda s: len(s) == 4 and s[2] > 3 and s[3] > 3)
    if x is None:
        return
    n, c, h, w = g.shapes[x]
    kernel, stride, pad = 3, int(g.rng.integers(1, 3)), int(g.rng.integers(0, 2))
    sizes = [(size + 2 * pad - kernel) // stride + 1 for size in (h, w)]
    more: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [stride] * 2, "pads": [pad] * 4}
    op = str(g.rng.choice(["MaxPool", "AveragePool"]))
    if op == "AveragePool":
        more["count_include_pad"] = int(g.rng.integers(2))
    g.add(op, [x], (n, c, *sizes), **more)


def _normalize(g: Sketch) -> None:
    x = g.pick(lambda s: len(s) > 2)
    if x is None:
        return
    shape = g.shapes[x]
    vectors = [g.constant(g.rng.random(shape[1]) + 0.5) for _ in range(4)]
    if g.rng.random() < 0.5:
        g.add("BatchNormalization", [x, *vectors], shape)
    else:
        rows = [g.constant(g.rng.standard_normal(shape[-1])) for _ in range(2)]
        g.add("LayerNormalization", [x, *rows], shape)


def _where(g: Sketch) -> None:
    x = g.pick()
    if x is None:
        return
    name = f"b{len(g.nodes)}"
    op = str(g.rng.choice(["Greater", "Less", "GreaterOrEqual"]))
    g.nodes.append(helper.make_node(op, [x, g.constant(0.1)], [name]))
    g.add("Where", [name, x, g.constant(g.rng.standard_normal(()))], g.shapes[x])


STEPS: tuple[Callable[[Sketch], None], ...] = (
    *(_unary, _unary, _binary, _binary, _reduce, _transpose, _reshape, _concat, _slice),
    *(_softmax, _matmul, _gather, _pad, _conv, _conv, _pool, _normalize, _where),
)


def random_model(seed: int) -> tuple[Any, dict[str, Array]]:
    """A model and arrays for its inputs."""
    rng = np.random.default_rng(seed)
    g = Sketch(rng)
    inputs = {}
    for number in range(int(rng.integers(1, 4))):
        rank = int(rng.choice([1, 2, 3, 4, 4, 4]))
        shape = tuple(int(n) for n in rng.integers(1, 9, rank))
        inputs[f"x{number}"] = rng.standard_normal(shape).astype(np.float32)
        g.shapes[f"x{number}"] = shape
    wanted = int(rng.integers(4, 16))
    for _ in range(100):
        if len(g.nodes) >= wanted:
            break
        STEPS[int(rng.integers(len(STEPS)))](g)
    used = {name for node in g.nodes for name in node.input}
    outputs = [name for name in g.shapes if name not in used and name not in inputs]
    infos = [helper.make_tensor_value_info(name, FLOAT, g.shapes[name]) for name in outputs]
    given = [helper.make_tensor_value_info(name, FLOAT, x.shape) for name, x in inputs.items()]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in g.constants.items()]
    graph = helper.make_graph(g.nodes, "random", given, infos, initializer=constants)
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10), inputs


def mismatch(seed: int, opt_level: int = 3) -> str | None:
    """The difference in a random model, or None. Raises UserError if it is refused."""
    import onnxruntime

    import xtc

    model, inputs = random_model(seed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    expected = session.run(None, inputs)
    read = xtc.from_onnx(model)
    options = {"in_memory": True, "cache": False, "opt_level": opt_level}
    with xtc.compile(read, **options) as module:
        found = module(**inputs)
    found = found if isinstance(found, tuple) else (found,)
    for name, actual, wanted in zip(read.outputs, found, expected, strict=True):
        if not np.isfinite(wanted).all():
            continue
        if actual.shape != wanted.shape:
            return f"{name}: shape {actual.shape}, not {wanted.shape}"
        tolerance = 1e-4 * max(1.0, float(np.abs(wanted).max(initial=0)))
        if (worst := float(np.abs(actual - wanted).max(initial=0))) > tolerance:
            return f"{name}: differs by {worst:.3g}; {tolerance:.3g} is allowed"
    return None


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Compare random ONNX graphs with ONNX Runtime.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--opt-level", type=int, default=3, help="of LLVM, 0 to 3")
    args = parser.parse_args()
    failed = 0
    for seed in range(args.seed, args.seed + args.count):
        try:
            text = mismatch(seed, args.opt_level)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        if text is not None:
            failed += 1
            sys.stdout.write(f"seed {seed}: {text}\n")
            sys.stdout.flush()
        if (done := seed - args.seed + 1) % 50 == 0:
            sys.stderr.write(
                f"{done - failed} of {done} equal; {time.process_time():.0f} s of CPU\n"
            )
    sys.stdout.write(f"{args.count - failed} of {args.count} equal\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
