# SPDX-License-Identifier: Apache-2.0
"""winograd-convolutions: computes 3 x 3 and 3 x 3 x 3 convolutions by Winograd's algorithm."""

from __future__ import annotations

import math
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
from xtc.ir.builders.generic import copy_body, fill, generic, yield_
from xtc.ir.builders.numbers import linear_offset, multiply
from xtc.ir.builders.rebuild import copy_with
from xtc.ir.builders.slices import Offset, empty, extract_slice, insert_slice, tensor_type
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DenseI64ArrayAttr,
    DictAttr,
    FlatSymbolRefAttr,
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
    READ,
    TILE,
    Bands,
    Convolution,
    DepthTap,
    bands,
    convolution,
)
from xtc_targets.host.passes._winograd_transforms import (
    TAPS,
    C,
    H,
    N,
    P,
    Q,
    W,
    combination,
    transformed,
)

_Operand = tuple[Value, tuple[Index, ...]]

_READS = ("memref.get_global", "bufferization.to_tensor")
_ROWS_OF_RESULTS = (Index(((1, TILE), (3, 1)), 0), Index(((2, TILE), (4, 1)), 0))
_RESULT_GROUPS = [[0], [1, 2], [3, 4], [5]]  # of loops in one dimension of the result


@dataclass(frozen=True)
class WinogradConvolutions(Pass):
    """Compute (q x) 3 x 3 convolutions of stride 1 with constant filters by Winograd's F(2x2, 3x3).

    The 4 x 4 tiles of the image are transformed and multiplied with the filters in 16 matrix
    products; each 2 x 2 tile of the result is a sum of these. The filters are transformed when the
    artifact is built. Elementwise consumers compute directly on those sums. If the transformed
    tiles do not fit into the second-level cache, the convolution is computed in bands, which
    threads may share. Sums have another order and fewer terms, so errors are no larger. An infinity
    in an image becomes NaN in the results of its whole tile. A convolution of volumes adds the
    products of its taps along the depth in the transformed domain, each over the frames for which
    the tap reads no border. Convolutions with a user's schedule stay.

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
                chain = _chain(view, nest, taken, by_channel=not found.is_even)
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

    def read(self, found: Convolution, tap: DepthTap, ip: InsertionPoint) -> Value:
        """The transformed filters of one tap along the depth, as a tensor."""
        symbol = FlatSymbolRefAttr(found.filters.attributes["name"]).value
        derived = f"{symbol}.transformed{tap.number or ''}"
        type = MemRefType.get(
            [READ * READ, found.channels, found.features], found.image.type.element_type
        )
        if derived not in self._origins:
            old = self._globals[symbol]
            alignment = old.attributes.get("alignment", None)
            memref.global_(
                derived,
                TypeAttr.get(type),
                constant=True,
                alignment=alignment,
                ip=InsertionPoint(old),
            )
            rows = Attribute.parse(f"dense<{[list(row) for row in FILTER_ROWS]}> : tensor<4x3xf64>")
            part = DenseI64ArrayAttr.get([tap.number, found.depth_taps])
            self._origins[derived] = ArrayAttr.get([FlatSymbolRefAttr.get(symbol), rows, part])
        loaded = memref.get_global(type, derived, ip=ip)
        whole = tensor_type(type.shape, found.image)
        return bufferization.to_tensor(whole, loaded, restrict=True, ip=ip)

    def finish(self) -> None:
        """Describe the new constants, and erase those that nothing reads."""
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
        origins = (
            FlatSymbolRefAttr(ArrayAttr(derived)[0]).value for derived in self._origins.values()
        )
        for symbol in dict.fromkeys(origins):
            if symbol not in read:
                self._globals[symbol].erase()


@dataclass(frozen=True)
class _Band:
    """The parts of tensors that a band accesses, from an image and a row on.

    Tensors have four dimensions; the frames of a volume are consecutive images.

    Attributes:
        found: the convolution.
        image: number of its first image, or volume.
        row: number of its first row.
        images: images, or volumes.
        rows: rows of the result.
    """

    found: Convolution
    image: Offset
    row: Offset
    images: int
    rows: int

    @property
    def tile_rows(self) -> int:
        return -(-self.rows // TILE)

    @property
    def frames(self) -> int:
        """Frames of the result."""
        return self.images * self.found.frames

    def of(self, value: Value, ip: InsertionPoint) -> Value:
        """The band of a tensor with the height of the result."""
        return self._part(value, self.found.frames, self.rows, ip)

    def read(self, image: Value, ip: InsertionPoint) -> Value:
        """The part of the image that the band's tiles read; bands overlap."""
        return self._part(image, self.found.read_frames, self.tile_rows * TILE + READ - TILE, ip)

    def _part(self, value: Value, frames: int, rows: int, ip: InsertionPoint) -> Value:
        _, _, width, channels = shape_of(value)
        sizes = [self.images * frames, rows, width, channels]
        return extract_slice(value, self._offsets(frames, ip), sizes, ip)

    def offsets(self, ip: InsertionPoint) -> list[Offset]:
        """The offsets of the band in the result."""
        return self._offsets(self.found.frames, ip)

    def _offsets(self, frames: int, ip: InsertionPoint) -> list[Offset]:
        return [multiply(self.image, frames, ip), self.row, 0, 0]


class _Rewriting:
    """Rewrites one convolution with its chain of elementwise consumers."""

    def __init__(self, found: Convolution, divided: Bands, chain: Sequence[Structured]) -> None:
        self.found, self.bands, self.chain = found, divided, chain
        self.last = [found.nest, *chain][-1]

    def run(self, filters: _Filters) -> None:
        """Insert the new operations at the last of the old ones, and erase the old ones."""
        found, ip = self.found, InsertionPoint(self.last.op)
        down = self.bands.down
        image = _filled_up(found, down, ip)
        u = [filters.read(found, tap, ip) for tap in found.taps]
        images = found.batch // self.bands.images
        count = images * (down // self.bands.rows)
        rows = found.height if count == images else self.bands.rows * TILE
        whole = [found.batch * found.frames, *shape_of(self.last.result)[-3:]]
        shape = whole if count == images else [whole[0], down * TILE, *whole[2:]]
        result = empty(shape, self.last.result, ip)
        if count == 1:
            value = self._band(_Band(found, 0, 0, found.batch, rows), image, u, result, ip)
        else:
            loop = forall(count, None, [result], ip)
            counts = [images, down // self.bands.rows]
            number, row = digits(loop.number, counts, loop.ip)
            starts = (
                linear_offset([(number, self.bands.images)], loop.ip),
                linear_offset([(row, rows)], loop.ip),
            )
            band = _Band(found, *starts, self.bands.images, rows)
            (shared,) = loop.shared
            computed = self._band(band, image, u, shared, loop.ip)
            loop.write(computed, shared, band.offsets(loop.ip))
            value = loop.op.results[0]
        if shape != whole:
            value = extract_slice(value, [0] * 4, whole, ip)
        self.last.result.replace_all_uses_with(_reshaped(value, shape_of(self.last.result), ip))
        for nest in reversed([found.nest, *self.chain]):
            nest.op.erase()

    def _band(
        self, band: _Band, image: Value, u: Sequence[Value], result: Value, ip: InsertionPoint
    ) -> Value:
        """Compute a band of the result; inserted into `result` if the tiles are whole."""
        v = transformed(band.read(image, ip), band.tile_rows, ip)
        return self._combined(self._sums(v, u, band, ip), band, result, ip)

    def _sums(self, v: Value, u: Sequence[Value], band: _Band, ip: InsertionPoint) -> Value:
        """The sums of the products over the taps along the depth, each of the frames it reads."""
        points, _, channels = shape_of(v)
        tiles = band.tile_rows * self.found.tiles[1]
        shape = (points, band.frames * tiles, self.found.features)
        zero = arith.constant(v.type.element_type, 0.0, ip=ip)
        total = fill(zero, empty(shape, v, ip), self._names(".init_"), ip).results[0]
        for tap, filters in zip(self.found.taps, u, strict=True):
            count = tap.count * tiles * band.images
            read = extract_slice(v, [0, tap.reads * tiles, 0], [points, count, channels], ip)
            offsets = [0, tap.first * tiles, 0]
            into = extract_slice(total, offsets, [points, count, self.found.features], ip)
            computed = self._products(read, filters, into, ip)
            total = computed if into == total else insert_slice(computed, total, offsets, ip)
        return total

    def _names(self, suffix: str = "_") -> dict[str, Attribute]:
        """The convolution's node id, or the id of a step of it."""
        old = self.found.nest.op.attributes
        ids = [name for name in old if name.startswith(NODE_ID_PREFIX)]
        return {f"{name.removesuffix('_')}{suffix}": old[name] for name in ids}

    def _products(self, v: Value, u: Value, into: Value, ip: InsertionPoint) -> Value:
        """The 16 products of transformed tiles and filters, added to `into`."""
        attributes = {
            **self._names(),
            LOOP_DIMS: ArrayAttr.get([StringAttr.get(n) for n in "bijk"]),
        }
        b, i, j, k = (Index(((loop, 1),), 0) for loop in range(4))
        op = generic([(v, (b, i, k)), (u, (b, k, j)), (into, (b, i, j))], 4, [3], attributes, ip)
        copy_body(self.found.nest.op, op)
        return op.results[0]

    def _combined(self, m: Value, band: _Band, result: Value, ip: InsertionPoint) -> Value:
        """The results of a band: sums of products, passed through the chain."""
        (_, across), features = self.found.tiles, self.found.features
        flat = Index(((0, band.tile_rows * across), (1, across), (2, 1)), 0)
        summed = [
            (m, (Index(((3, READ), (4, 1)), i * READ + j), flat, C))
            for i in range(TAPS)
            for j in range(TAPS)
        ]
        shape = (band.frames, band.tile_rows, TILE, across, TILE, features)
        if self.found.is_even:
            begin = _expanded(band.of(result, ip), shape, _RESULT_GROUPS, ip)
        else:
            begin = empty(shape, m, ip)
        into = (begin, (N, H, P, W, Q, C))
        others = self._others(band, ip)
        with Location.fused([nest.op.location for nest in (self.found.nest, *self.chain)]):
            op = generic([*summed, *others.values(), into], 6, [], {}, ip)
        block = op.regions[0].blocks[0]
        end = InsertionPoint(block)
        values = list(block.arguments)
        inside = {self.found.nest.result: combination(values, end)}
        for key, value in zip(others, values[len(summed) :], strict=False):
            inside[key] = value
        for nest in self.chain:
            inside[nest.result] = _inlined(nest, inside, end)
        yield_([inside[self.last.result]], end)
        whole = (band.frames, band.tile_rows * TILE, across * TILE, features)
        computed = tensor.collapse_shape(
            tensor_type(whole, result), op.results[0], _RESULT_GROUPS, ip=ip
        )
        return extract_slice(
            computed, [0] * 4, (*whole[:1], band.rows, self.found.width, features), ip
        )

    def _others(self, band: _Band, ip: InsertionPoint) -> dict[tuple[Structured, int], _Operand]:
        """The other operands of the chain and their indices, by operation and operand."""
        inside = [nest.result for nest in (self.found.nest, *self.chain)]
        found: dict[tuple[Structured, int], _Operand] = {}
        for nest in self.chain:
            for number, value in enumerate(list(nest.op.operands)[: nest.destination]):
                row = nest.indices[number]
                if value in inside:
                    continue
                if row == nest.indices[-1]:
                    flat = _reshaped(value, _flat(shape_of(value)), ip)
                    found[nest, number] = (band.of(flat, ip), (N, *_ROWS_OF_RESULTS, C))
                else:  # the last loop is the only one that indexes it
                    loops = [C.factors[0][0]] * len(nest.extents)
                    found[nest, number] = (value, tuple(index.renamed(loops) for index in row))
        return found


def _chain(
    view: FunctionView, nest: Structured, taken: Sequence[Structured], *, by_channel: bool
) -> list[Structured]:
    """The chain of elementwise consumers, each the only reader of the one before.

    With `by_channel`, their other operands are the same for all results of a channel.
    """
    chain: list[Structured] = []
    while True:
        last = [nest, *chain][-1].result
        uses = view.uses.get(last, [])
        reader = view.nests.get(uses[0][0]) if len(uses) == 1 else None
        if reader is None or reader in taken or not _is_elementwise(reader, nest):
            return chain
        if by_channel and not all(
            _is_by_channel(reader, row) for row in _others_read(reader, last)
        ):
            return chain
        chain.append(reader)


def _others_read(reader: Structured, value: Value) -> list[tuple[Index, ...]]:
    """The indices by which an operation reads its operands other than a value."""
    numbers = range(reader.destination)
    return [reader.indices[n] for n in numbers if reader.op.operands[n] != value]


def _is_elementwise(reader: Structured, nest: Structured) -> bool:
    """Whether an operation is elementwise on the shape of the convolution."""
    return (
        reader.op.name == "linalg.generic"
        and reader.device is None
        and not reader.reductions
        and not reader.reads_destination
        and shape_of(reader.result) == shape_of(nest.result)
        and reader.indices[-1] == _whole(reader)
        and all(row == _whole(reader) or _is_by_channel(reader, row) for row in reader.indices)
    )


def _whole(nest: Structured) -> tuple[Index, ...]:
    """The index of each dimension if each is one loop's, in order."""
    return tuple(Index(((loop, 1),), 0) for loop in range(len(nest.extents)))


def _is_by_channel(nest: Structured, row: Sequence[Index]) -> bool:
    """Whether an operand is indexed by the channel only."""
    return not any(index.factor(loop) for index in row for loop in range(len(nest.extents) - 1))


def _filled_up(found: Convolution, down: int, ip: InsertionPoint) -> Value:
    """The frames of the image that are not border.

    They have zeros below and beside them if `down` rows of tiles extend beyond their end.
    """
    rows, columns = (count * TILE + READ - TILE for count in (down, found.tiles[1]))
    *_, height, width, channels = shape_of(found.image)
    if (height, width) == (rows, columns) and not found.skips_frames:
        return _reshaped(found.image, _flat(shape_of(found.image)), ip)
    padding = found.padding
    # Borders and the rest are filled at once.
    image, offsets = (padding.inside, padding.offsets) if padding else (found.image, ())
    image = _reshaped(image, _flat(shape_of(image)), ip)
    zero = arith.constant(image.type.element_type, 0.0, ip=ip)
    shape = (shape_of(image)[0], rows, columns, channels)
    larger = fill(zero, empty(shape, image, ip), {}, ip).results[0]
    return insert_slice(image, larger, (0, *(offsets[-3:] or (0, 0, 0))), ip)


def _flat(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of volumes as images, of which each frame is one."""
    return (math.prod(shape[:-3]), *shape[-3:])


def _reshaped(value: Value, shape: Sequence[int], ip: InsertionPoint) -> Value:
    """Volumes as images, or images as volumes."""
    old = shape_of(value)
    groups = [[0, 1], [2], [3], [4]]
    if len(old) > len(shape):
        return tensor.collapse_shape(tensor_type(shape, value), value, groups, ip=ip)
    return value if old == tuple(shape) else _expanded(value, shape, groups, ip)


def _expanded(
    value: Value, shape: Sequence[int], groups: Sequence[Sequence[int]], ip: InsertionPoint
) -> Value:
    """A tensor with expanded dimensions."""
    return tensor.expand_shape(tensor_type(shape, value), value, groups, [], shape, ip=ip)


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
        copy_with(inner, values, ip)
    raise AssertionError(nest.op.name)  # a body ends with a yield
