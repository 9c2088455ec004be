# SPDX-License-Identifier: Apache-2.0
"""Matches loops that copy tiles of two tensors to shared memory and accumulate their dot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xtc.ir.attributes import TF32
from xtc.ir.builders.numbers import known_trips
from xtc.ir.builders.operand_codes import codes_of_dot
from xtc.ir.builders.tile import dims_of
from xtc.ir.mlir import BlockArgument, MemRefType, Operation, RankedTensorType, Type, all_operations
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._pipelines.declined import Declined
from xtc_targets.nvgpu.passes._pipelines.loop_forms import Form, LoopForms
from xtc_targets.nvgpu.passes._pipelines.slot_traffic import TRAFFIC, Stream, Traffic, slot_view
from xtc_targets.nvgpu.passes._tiles.mma_kind import STEP_BYTES, TRANSPOSABLE_BYTES
from xtc_targets.nvgpu.passes._tiles.numbers import Numbers, global_sizes
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of
from xtc_targets.nvgpu.passes.map_tensors import ROW_BYTES

_BODY = (
    *TRAFFIC,
    *("arith.", "memref.subview", "memref.transpose", "memref.cast", "tile.transpose", "tile.dot"),
    *("tile.assume", "tile.block_id", "tile.grid_dim", "scf.yield"),
)
_TOTALS: Mapping[str, str] = MappingProxyType(
    {
        "f16": "f32",
        "bf16": "f32",
        "float8_e4m3": "f32",
        "float8_e5m2": "f32",
        "tfloat32": "f32",
        "int8": "i32",
        "uint8": "i32",
    }
)
"""The type of the accumulators by that of the operands of a warpgroup."""
_UNCODED = ("f16", "bf16")
"""Operands whose element type in MLIR is their type; that of others is a code or a float32."""
_ROWS = (32, 64)
_MOST_DIMENSIONS = 5  # of a bulk copy's tensor


@dataclass(frozen=True)
class Operand:
    """An operand of the dot.

    Attributes:
        stream: its tiles.
        shape: shape of a tile in shared memory, whose last dimension is dense.
        dims: dimensions of the global tensor that the tile's dimensions correspond to.
        order: the tile's dimensions that are the operand's rows and columns.
        summed: the operand's reduction dimension, 0 or 1.
    """

    stream: Stream
    shape: tuple[int, int]
    dims: tuple[int, int]
    order: tuple[int, int]
    summed: int

    @property
    def nbytes(self) -> int:
        """Bytes per element."""
        return bytes_of(MemRefType(self.stream.source.type).element_type)

    @property
    def is_along_k(self) -> bool:
        """Whether elements along K are contiguous in shared memory."""
        return self.order[self.summed] == 1

    @property
    def offsets(self) -> tuple[Form, ...]:
        """The offsets of an iteration's tile in the global tensor."""
        return self.stream.offsets

    @property
    def depth_dim(self) -> int:
        """The reduction dimension, in the global tensor."""
        return self.dims[self.order[self.summed]]

    def deeper(self, factor: int) -> tuple[int, int]:
        """The shape of `factor` consecutive tiles along K."""
        wide = list(self.shape)
        wide[self.order[self.summed]] *= factor
        return wide[0], wide[1]


@dataclass(frozen=True)
class DotLoop:
    """A loop of copies and a dot.

    Attributes:
        loop: the scf.for.
        dot: the operation.
        operands: the type of both operands: an element type of MLIR, or the name of codes.
        carried: the index of the accumulator among the loop's results.
        a, b: the operands.
        forms: the loop's integers as linear forms.
        trips: the trip count; None if it is unknown.
    """

    loop: Operation
    dot: Operation
    operands: str
    carried: int
    a: Operand
    b: Operand
    forms: LoopForms
    trips: int | None

    @property
    def codes(self) -> str:
        """The type of the operands of a wgmma that MLIR's type does not express; "" for others."""
        return "" if self.operands in _UNCODED else self.operands

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, N, and the K extent of an iteration."""
        m, n = RankedTensorType(self.dot.results[0].type).shape
        return m, n, RankedTensorType(self.dot.operands[0].type).shape[1]

    @property
    def merged(self) -> int:
        """The number of iterations that can be merged, so that rows have 128 bytes.

        Their tiles must be consecutive in both tensors; the last ones may exceed the loop only if
        both tensors end there.
        """
        _, _, k = self.sizes
        factor = max(1, ROW_BYTES // (k * self.a.nbytes))
        if self.trips is not None and self.trips % factor:
            factor = factor if self._ends_with_tensors() else math.gcd(factor, self.trips)
        elif self.trips is None and not self._ends_with_tensors():
            return 1
        apart = all(
            form.step == (k if dim == each.depth_dim else 0)
            for each in (self.a, self.b)
            for dim, form in enumerate(each.offsets)
        )
        return factor if apart else 1

    def _ends_with_tensors(self) -> bool:
        """Whether the loop reaches the end of K in both tensors."""
        return all(self._ends_with(each) for each in (self.a, self.b))

    def _ends_with(self, operand: Operand) -> bool:
        first = operand.offsets[operand.depth_dim]
        size = self.forms.of(global_sizes(operand.stream.source)[0][operand.depth_dim])
        lower, upper, step = (self.forms.of(value) for value in list(self.loop.operands)[:3])
        if size is None or lower is None or upper is None or step is None or step.terms:
            return False
        span = (size.less(first), upper.less(lower))
        if self.trips is not None and span[0] is not None:
            return span[0] <= self.trips * first.step
        is_same = size == upper and first == Form(step=first.step)
        return is_same and lower == Form() and step == Form(first.step)


def dot_loops(kernel: Operation) -> list[Operation]:
    """The loops with an asynchronous copy and a dot."""
    found = []
    for op in _inside(kernel):
        if op.name == "scf.for":
            names = [inner.name for inner in _inside(op)]
            if "tile.dot" in names and "tile.copy_async" in names:
                found.append(op)
    return found


def dot_loop(loop: Operation, before: Sequence[Operation], numbers: Numbers) -> DotLoop:
    """Match a loop. Raises Declined if bulk copies and warpgroups cannot execute it."""
    body = [view.operation for view in loop.regions[0].blocks[0].operations]
    for op in body:
        if not op.name.startswith(_BODY):
            raise Declined(f"the loop does more than copies and a dot: {op.name}", op)
    dots = [op for op in body if op.name == "tile.dot"]
    if len(dots) > 1:
        raise Declined("the loop has several dots", dots[1])
    (dot,) = dots
    operands = _operand_type(dot)
    forms, trips = LoopForms(loop), known_trips(loop)
    if trips == 0:
        raise Declined("the loop has no iterations", loop)
    traffic = Traffic(forms, trips)
    traffic.follow(before, body)
    a, b = (_operand(dot, number, traffic) for number in (0, 1))
    for number, operand in enumerate((a, b)):
        _require_along_k(operand, operands, number)
        _require_copies(operand, numbers)
    return DotLoop(loop, dot, operands, _carried(loop, dot), a, b, forms, trips)


def _inside(op: Operation) -> list[Operation]:
    return all_operations(op)[1:]


def _operand_type(dot: Operation) -> str:
    """The type of both operands. Raises Declined for types and sizes that warpgroups lack."""
    left, right, sums = (RankedTensorType(value.type) for value in dot.operands)
    names = codes_of_dot(dot) or [_named(dot, type.element_type) for type in (left, right)]
    total = str(sums.element_type)
    if names[0] != names[1] or _TOTALS.get(names[0]) != total:
        raise Declined(f"a dot of {names[0]} and {names[1]} into {total}", dot)
    (m, k), n = left.shape, right.shape[1]
    step = STEP_BYTES // bytes_of(left.element_type)
    if m % 64 or n % 8 or k % step:
        why = f"a dot of {m}x{k} and {k}x{n}: warpgroups need multiples of 64, {step} and 8"
        raise Declined(why, dot)
    return names[0]


def _named(dot: Operation, element: Type) -> str:
    if TF32 in dot.attributes:
        return "tfloat32"
    return "int8" if str(element) == "i8" else str(element)


def _carried(loop: Operation, dot: Operation) -> int:
    """The index of the accumulator among the loop's results; only this result may be used."""
    block = loop.regions[0].blocks[0]
    handed_on = list(list(block.operations)[-1].operands)
    sums = dot.operands[2]
    number = sums.arg_number - 1 if isinstance(sums, BlockArgument) else -1
    is_sum = number >= 0 and sums.owner == block and handed_on[number] == dot.results[0]
    if not is_sum or len(list(sums.uses)) > 1 or len(list(dot.results[0].uses)) > 1:
        raise Declined("the dot's result is not the accumulator that the loop carries", dot)
    for other, result in enumerate(loop.results):
        if other != number and len(list(result.uses)):
            raise Declined("another result of the loop is used after the loop", loop)
    return number


def _operand(dot: Operation, number: int, traffic: Traffic) -> Operand:
    value, order = dot.operands[number], (0, 1)
    while not isinstance(value, BlockArgument) and value.owner.name == "tile.transpose":
        swapped = dims_of(value.owner.operation)
        order = (swapped[order[0]], swapped[order[1]])
        value = value.owner.operands[0]
    load = None if isinstance(value, BlockArgument) else value.owner.operation
    if load is None or load.name != "tile.load_shared" or load not in traffic.read:
        raise Declined("an operand of the dot is not a copied tile", load or dot)
    view = slot_view(load.operands[0], traffic.forms, load)
    if len(view.order) != 2:
        raise Declined("an operand of the dot is not a slot of two dimensions", load)
    stream = traffic.stream(load, view.root)
    shape = tuple(MemRefType(stream.copy.operands[1].type).shape)
    rows = (view.order[order[0]], view.order[order[1]])
    if stream.dims[0] > stream.dims[1]:  # a bulk copy cannot transpose
        shape = shape[::-1]
        rows = (1 - rows[0], 1 - rows[1])
    dims = (min(stream.dims), max(stream.dims))
    return Operand(stream, (shape[0], shape[1]), dims, rows, 1 - number)


def _require_along_k(operand: Operand, name: str, number: int) -> None:
    """Decline if warpgroups would have to transpose operands of 8 or 32 bits."""
    if operand.nbytes != TRANSPOSABLE_BYTES and not operand.is_along_k:
        what = f"operand {'ab'[number]} of {name} is contiguous along {'mn'[number]}, not along k"
        raise Declined(f"{what}: warpgroups transpose 16-bit operands only", operand.stream.copy)


def _require_copies(operand: Operand, numbers: Numbers) -> None:
    """Decline unless bulk copies can load the tiles."""
    copy, source = operand.stream.copy, operand.stream.source
    type = MemRefType(source.type)
    nbytes, rank = operand.nbytes, len(type.shape)
    if rank > _MOST_DIMENSIONS or operand.dims[1] != rank - 1:
        raise Declined("the last dimension of the tensor is not copied", copy)
    _, strides, offset = global_sizes(source)
    if strides[-1] != 1:
        raise Declined("the last dimension of the tensor is not dense", copy)
    for stride in (*strides[:-1], offset):
        if numbers.divisor(stride) * nbytes % ACCESS_BYTES:
            known = f"{stride * nbytes} bytes" if isinstance(stride, int) else "unknown"
            what = "the offset" if stride is offset else "a stride"
            why = f"{what} of the tensor, {known}, is not a multiple of {ACCESS_BYTES} bytes"
            raise Declined(why, copy)
    row = operand.shape[1] * nbytes
    if row % ROW_BYTES and row not in _ROWS:
        raise Declined(f"rows of {row} bytes in shared memory, not 32, 64 or n x 128", copy)
