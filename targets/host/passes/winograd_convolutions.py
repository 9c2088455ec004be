# SPDX-License-Identifier: Apache-2.0
"""winograd-convolutions: computes 3 x 3 convolutions by Winograd's algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.linalg_ops import node_in_function
from xtc.ir.analysis.structured import Structured, body_operations, shape_of
from xtc.ir.attributes import LOOP_DIMS, NODE_ID_PREFIX, TRANSFORMED
from xtc.ir.builders.affine import digits
from xtc.ir.builders.control import forall
from xtc.ir.builders.generic import copy_body, fill, generic, loop_index, yield_
from xtc.ir.builders.numbers import add, as_value, compare, linear_offset, multiply
from xtc.ir.builders.slices import Offset, empty, extract_slice, insert_slice, tensor_type
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DictAttr,
    F32Type,
    FlatSymbolRefAttr,
    IndexType,
    InsertionPoint,
    Location,
    MemRefType,
    Operation,
    StringAttr,
    TypeAttr,
    Value,
    all_operations,
    arith,
    bufferization,
    memref,
    tensor,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.tensor._scheduled import fused_nodes
from xtc_targets.host.passes._winograd import (
    FILTER_ROWS,
    INPUT_ROWS,
    READ,
    TILE,
    Bands,
    Convolution,
    bands,
    convolution,
)

_Operand = tuple[Value, tuple[Index, ...]]

_READS = ("memref.get_global", "bufferization.to_tensor")
_TAPS = 3
_N, _H, _W, _P, _Q, _C = (Index(((loop, 1),), 0) for loop in range(6))
"""The loops over images, rows and columns of tiles, rows and columns in a tile, and channels."""
_LOOPS = (0, 1, 2, 5)  # of an elementwise operation on results, which uses only the last
_ROWS_OF_RESULTS = (Index(((1, TILE), (3, 1)), 0), Index(((2, TILE), (4, 1)), 0))
_RESULT_GROUPS = [[0], [1, 2], [3, 4], [5]]  # of loops in one dimension of the result
_WHOLE = tuple(Index(((loop, 1),), 0) for loop in range(4))


@dataclass(frozen=True)
class WinogradConvolutions(Pass):
    """Compute 3 x 3 convolutions of stride 1 with constant filters by Winograd's F(2x2, 3x3).

    The 4 x 4 tiles of the image are transformed and multiplied with the filters in 16 matrix
    products; each 2 x 2 tile of the result is a sum of these. The filters are transformed when the
    artefact is built. Elementwise consumers compute directly on those sums. If the transformed
    tiles do not fit into the second-level cache, the convolution is computed in bands, which
    threads may share. Sums have another order and fewer terms, so errors are no larger. An infinity
    in an image becomes NaN in the results of its whole tile. Convolutions with a user's schedule
    stay.

    Before:
        %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w) : tensor<1x58x58x64xf32>, tensor<3x3x64x64xf32>
    After:
        %v = linalg.generic { a sum of four elements of %x }      // 4x4 of 784 tiles
        %m = linalg.generic ins(%v, %u) { batched contraction }   // %u is @w.transformed, 16x64x64
        %y = linalg.generic ins(nine entries of %m) { their sum }

    Attributes:
        l2_bytes: size of a core's second-level cache.
        parallel: whether threads share the bands.
    """

    name: ClassVar[str] = "winograd-convolutions"
    l2_bytes: int = 524288
    parallel: bool = True

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            kept = fused_nodes(module)
            filters = _Filters(module)
            for view in functions(module):
                # Found before anything is erased.
                for rewriting in list(self._found(view, kept)):
                    with rewriting.found.nest.op.location:
                        rewriting.run(filters)
            filters.finish()

    def _found(self, view: FunctionView, kept: set[tuple[str, str]]) -> Iterator[_Rewriting]:
        taken: list[Structured] = []
        for nest in view.nests.values():
            found = convolution(view, nest)
            divided = found and bands(found, self.l2_bytes, parallel=self.parallel)
            if found and divided and node_in_function(nest.op) not in kept:
                chain = _chain(view, nest, taken) if found.is_even else []
                taken += chain
                yield _Rewriting(found, divided, chain)


class _Filters:
    """The transformed filters of a module, each stored once."""

    def __init__(self, module: Operation) -> None:
        self._module = module
        self._globals = {
            StringAttr(op.attributes["sym_name"]).value: op
            for op in all_operations(module)
            if op.name == "memref.global"
        }
        self._origins: dict[str, Attribute] = {}

    def read(self, found: Convolution, ip: InsertionPoint) -> Value:
        """The transformed filters of a convolution, as a tensor."""
        symbol = FlatSymbolRefAttr(found.filters.attributes["name"]).value
        made = f"{symbol}.transformed"
        type = MemRefType.get(
            [READ * READ, found.channels, found.features], found.image.type.element_type
        )
        if made not in self._origins:
            old = self._globals[symbol]
            alignment = old.attributes.get("alignment", None)
            memref.global_(
                made, TypeAttr.get(type), constant=True, alignment=alignment, ip=InsertionPoint(old)
            )
            rows = Attribute.parse(f"dense<{[list(row) for row in FILTER_ROWS]}> : tensor<4x3xf64>")
            self._origins[made] = ArrayAttr.get([FlatSymbolRefAttr.get(symbol), rows])
        loaded = memref.get_global(type, made, ip=ip)
        whole = tensor_type(type.shape, found.image)
        return bufferization.to_tensor(whole, loaded, restrict=True, ip=ip)

    def finish(self) -> None:
        """Describe the new constants, and erase those that nothing reads any more."""
        if not self._origins:
            return
        self._module.attributes[TRANSFORMED] = DictAttr.get(self._origins)
        ops = all_operations(self._module)
        for op in reversed(ops):
            if op.name in _READS and not any(True for _ in op.results[0].uses):
                op.erase()
        read = {
            FlatSymbolRefAttr(op.attributes["name"]).value
            for op in all_operations(self._module)
            if op.name == "memref.get_global"
        }
        for made in self._origins:
            symbol = made.removesuffix(".transformed")
            if symbol not in read:
                self._globals[symbol].erase()


@dataclass(frozen=True)
class _Band:
    """The parts of tensors that a band accesses, from an image and a row on."""

    image: Offset
    row: Offset
    images: int
    rows: int

    @property
    def tile_rows(self) -> int:
        return -(-self.rows // TILE)

    def of(self, value: Value, ip: InsertionPoint) -> Value:
        """The band of a tensor with the height of the result."""
        return self._part(value, self.rows, ip)

    def read(self, image: Value, ip: InsertionPoint) -> Value:
        """The part of the image that the band's tiles read; bands overlap."""
        return self._part(image, self.tile_rows * TILE + READ - TILE, ip)

    def _part(self, value: Value, rows: int, ip: InsertionPoint) -> Value:
        _, _, width, channels = shape_of(value)
        return extract_slice(value, self.offsets, [self.images, rows, width, channels], ip)

    @property
    def offsets(self) -> list[Offset]:
        return [self.image, self.row, 0, 0]


class _Rewriting:
    """Rewrites one convolution with its chain of elementwise consumers."""

    def __init__(self, found: Convolution, divided: Bands, chain: Sequence[Structured]) -> None:
        self.found, self.bands, self.chain = found, divided, chain
        self.last = [found.nest, *chain][-1]

    def run(self, filters: _Filters) -> None:
        """Insert the new operations at the last of the old ones, and erase the old ones."""
        found, ip = self.found, InsertionPoint(self.last.op)
        image = _even(found, ip)
        u = filters.read(found, ip)
        result = empty(shape_of(self.last.result), self.last.result, ip)
        images, (down, _) = found.batch // self.bands.images, found.tiles
        count = images * (down // self.bands.rows)
        rows = found.height if count == images else self.bands.rows * TILE
        if count == 1:
            value = self._band(_Band(0, 0, found.batch, rows), image, u, result, ip)
        else:
            loop = forall(count, None, [result], ip)
            counts = [images, down // self.bands.rows]
            number, row = digits(loop.number, counts, loop.ip)
            starts = (
                linear_offset([(number, self.bands.images)], loop.ip),
                linear_offset([(row, rows)], loop.ip),
            )
            band = _Band(*starts, self.bands.images, rows)
            (shared,) = loop.shared
            loop.write(self._band(band, image, u, shared, loop.ip), shared, band.offsets)
            value = loop.op.results[0]
        self.last.result.replace_all_uses_with(value)
        for nest in reversed([found.nest, *self.chain]):
            nest.op.erase()

    def _band(
        self, band: _Band, image: Value, u: Value, result: Value, ip: InsertionPoint
    ) -> Value:
        """Compute a band of the result; inserted into `result` if the tiles are whole."""
        v = _transformed(band.read(image, ip), band.tile_rows, ip)
        return self._combined(self._products(v, u, ip), band, result, ip)

    def _products(self, v: Value, u: Value, ip: InsertionPoint) -> Value:
        """The 16 products of transformed tiles and filters, with the convolution's node id."""
        old = self.found.nest.op.attributes
        names = {name: old[name] for name in old if name.startswith(NODE_ID_PREFIX)}
        attributes = {**names, LOOP_DIMS: ArrayAttr.get([StringAttr.get(n) for n in "bijk"])}
        steps = {f"{name.removesuffix('_')}.init_": old[name] for name in names}
        points, tiles, _ = shape_of(v)
        zero = arith.constant(v.type.element_type, 0.0, ip=ip)
        begin = fill(zero, empty((points, tiles, self.found.features), v, ip), steps, ip)
        b, i, j, k = (Index(((loop, 1),), 0) for loop in range(4))
        op = generic(
            [(v, (b, i, k)), (u, (b, k, j)), (begin.results[0], (b, i, j))], 4, [3], attributes, ip
        )
        copy_body(self.found.nest.op, op)
        return op.results[0]

    def _combined(self, m: Value, band: _Band, result: Value, ip: InsertionPoint) -> Value:
        """The results of a band: sums of products, passed through the chain."""
        (_, across), features = self.found.tiles, self.found.features
        flat = Index(((0, band.tile_rows * across), (1, across), (2, 1)), 0)
        summed = [
            (m, (Index(((3, READ), (4, 1)), i * READ + j), flat, _C))
            for i in range(_TAPS)
            for j in range(_TAPS)
        ]
        shape = (band.images, band.tile_rows, TILE, across, TILE, features)
        if self.found.is_even:
            begin = _expanded(band.of(result, ip), shape, _RESULT_GROUPS, ip)
        else:
            begin = empty(shape, m, ip)
        into = (begin, (_N, _H, _P, _W, _Q, _C))
        others = self._others(band, ip)
        with Location.fused([nest.op.location for nest in (self.found.nest, *self.chain)]):
            op = generic([*summed, *others.values(), into], 6, [], {}, ip)
        block = op.regions[0].blocks[0]
        end = InsertionPoint(block)
        values = list(block.arguments)
        inside = {self.found.nest.result: _combination(values, end)}
        for key, value in zip(others, values[len(summed) :], strict=False):
            inside[key] = value
        for nest in self.chain:
            inside[nest.result] = _inlined(nest, inside, end)
        yield_([inside[self.last.result]], end)
        whole = (band.images, band.tile_rows * TILE, across * TILE, features)
        made = tensor.collapse_shape(
            tensor_type(whole, result), op.results[0], _RESULT_GROUPS, ip=ip
        )
        return extract_slice(made, [0] * 4, (*whole[:1], band.rows, self.found.width, features), ip)

    def _others(self, band: _Band, ip: InsertionPoint) -> dict[tuple[Structured, int], _Operand]:
        """The other operands of the chain and their indices, by operation and operand."""
        inside = [nest.result for nest in (self.found.nest, *self.chain)]
        found: dict[tuple[Structured, int], _Operand] = {}
        for nest in self.chain:
            for number, value in enumerate(list(nest.op.operands)[: nest.destination]):
                row = nest.indices[number]
                if value in inside:
                    continue
                if row == _WHOLE:
                    found[nest, number] = (band.of(value, ip), (_N, *_ROWS_OF_RESULTS, _C))
                else:
                    found[nest, number] = (value, tuple(index.renamed(_LOOPS) for index in row))
        return found


def _chain(view: FunctionView, nest: Structured, taken: Sequence[Structured]) -> list[Structured]:
    """The chain of elementwise consumers, each the only reader of the one before."""
    chain: list[Structured] = []
    while True:
        uses = view.uses.get([nest, *chain][-1].result, [])
        reader = view.nests.get(uses[0][0]) if len(uses) == 1 else None
        if reader is None or reader in taken or not _is_elementwise(reader, nest):
            return chain
        chain.append(reader)


def _is_elementwise(reader: Structured, nest: Structured) -> bool:
    """Whether an operation is elementwise on the shape of the convolution."""
    return (
        reader.op.name == "linalg.generic"
        and reader.device is None
        and not reader.reductions
        and not reader.reads_destination
        and shape_of(reader.result) == shape_of(nest.result)
        and reader.indices[-1] == _WHOLE
        and all(row == _WHOLE or _is_by_channel(row) for row in reader.indices)
    )


def _is_by_channel(row: Sequence[Index]) -> bool:
    """Whether an operand is indexed by the channel only."""
    return not any(index.factor(loop) for index in row for loop in range(3))


def _even(found: Convolution, ip: InsertionPoint) -> Value:
    """The image, padded with zeros at its end if the tiles reach beyond it."""
    image = found.image
    down, across = (count * TILE + READ - TILE for count in found.tiles)
    batch, height, width, channels = shape_of(image)
    if (height, width) == (down, across):
        return image
    zero = arith.constant(image.type.element_type, 0.0, ip=ip)
    larger = fill(zero, empty((batch, down, across, channels), image, ip), {}, ip).results[0]
    return insert_slice(image, larger, [0, 0, 0, 0], ip)


def _transformed(image: Value, rows: int, ip: InsertionPoint) -> Value:
    """The transformed tiles of an image, by entry, then by tile, then by channel."""
    images, _, width, channels = shape_of(image)
    across = (width - READ + TILE) // TILE
    into = empty((READ, READ, images, rows, across, channels), image, ip)
    op = generic([(into, (_P, _Q, _N, _H, _W, _C))], 6, [], {}, ip)
    end = InsertionPoint(op.regions[0].blocks[0])
    n, h, w, i, j, c = (loop_index(loop, end) for loop in range(6))
    ys, xs = _entries(i, h, end), _entries(j, w, end)
    upper, lower = ([tensor.extract(image, [n, y, x, c], ip=end) for x, _ in xs] for y, _ in ys)
    (_, down), (_, right) = ys[1], xs[1]
    left = _added(upper[0], upper[1], right, end)
    yield_([_added(left, _added(lower[0], lower[1], right, end), down, end)], end)
    flat = (READ * READ, images * rows * across, channels)
    groups = [[0, 1], [2, 3, 4], [5]]
    return tensor.collapse_shape(tensor_type(flat, image), op.results[0], groups, ip=ip)


def _expanded(
    value: Value, shape: Sequence[int], groups: Sequence[Sequence[int]], ip: InsertionPoint
) -> Value:
    """A tensor with expanded dimensions."""
    return tensor.expand_shape(tensor_type(shape, value), value, groups, [], shape, ip=ip)


def _entries(entry: Value, tile: Value, ip: InsertionPoint) -> list[tuple[Value, Value]]:
    """The two rows of an image that a transformed row adds, with signs; the first has sign 1."""
    kept = [
        sorted(((at, sign) for at, sign in enumerate(row) if sign), key=lambda term: -term[1])
        for row in INPUT_ROWS
    ]
    begin = multiply(tile, TILE, ip)
    return [
        (
            as_value(add(begin, _chosen(entry, [row[which][0] for row in kept], ip), ip), ip),
            _chosen(entry, [float(row[which][1]) for row in kept], ip),
        )
        for which in range(2)
    ]


def _chosen(number: Value, choices: Sequence[int] | Sequence[float], ip: InsertionPoint) -> Value:
    """The element of `choices` at a run-time number."""
    like = IndexType.get() if isinstance(choices[0], int) else F32Type.get()
    value = arith.constant(like, choices[-1], ip=ip)
    for other in range(len(choices) - 1):
        if choices[other] != choices[-1]:
            choice = arith.constant(like, choices[other], ip=ip)
            value = arith.select(compare("eq", number, other, ip), choice, value, ip=ip)
    return value


def _added(a: Value, b: Value, sign: Value, ip: InsertionPoint) -> Value:
    """`a + sign * b`."""
    return arith.addf(a, arith.mulf(sign, b, ip=ip), ip=ip)


def _combination(m: Sequence[Value], ip: InsertionPoint) -> Value:
    """A result as a signed sum of nine products."""
    p, q = (_chosen(loop_index(loop, ip), [1.0, -1.0], ip) for loop in (3, 4))
    first, *others = (
        _added(row[0], arith.addf(row[1], row[2], ip=ip), q, ip)
        for row in (m[at * _TAPS : at * _TAPS + _TAPS] for at in range(_TAPS))
    )
    return _added(first, arith.addf(*others, ip=ip), p, ip)


def _inlined(nest: Structured, inside: Mapping[object, Value], ip: InsertionPoint) -> Value:
    """The result of an elementwise operation on one element of each operand."""
    body = nest.body
    values: dict[Value, Value] = {}
    for number, operand in enumerate(list(nest.op.operands)[: nest.destination]):
        found = inside.get((nest, number))
        values[body.arguments[number]] = inside[operand] if found is None else found
    for inner in body_operations(nest.op):
        if inner.name == "linalg.yield":
            return values.get(inner.operands[0], inner.operands[0])
        copy = inner.clone(ip=ip).operation
        for number, operand in enumerate(copy.operands):
            copy.operands[number] = values.get(operand, operand)
        values.update(zip(inner.results, copy.results, strict=True))
    raise AssertionError(nest.op.name)  # a body ends with a yield
