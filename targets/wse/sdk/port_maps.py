# SPDX-License-Identifier: Apache-2.0
"""Port maps of SDK releases before 1.2: the placement of a host tensor's elements on PEs.

`{ A[j=0:5][i=0:3] -> [PE[i//2, j//3] -> index[i%2, j%3]] }` has an inclusive range for each axis of
the tensor, the column and the row of the PE, and the element's indices on the PE, the last of which
is the fastest.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xtc.core.errors import UserError

_MAP = re.compile(r"\{\s*\w+\s*((?:\[[^][]*\]\s*)+)->\s*\[\s*PE\s*\[([^][]*)\]\s*->\s*index\s*"
                  r"\[([^][]*)\]\s*\]\s*\}")  # fmt: skip
_AXIS = re.compile(r"[\[,]\s*(\w+)\s*=\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?(?=[\],])")
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_Ints: TypeAlias = NDArray[np.int64]
Region: TypeAlias = tuple[int, int, int, int, int]
"""px, py, width, height, elements of each PE."""


@dataclass(frozen=True)
class PortMap:
    """The placement of a tensor: a region, and the offset of each element in [h][w][l]."""

    shape: tuple[int, ...]
    region: Region
    offsets: _Ints


def convert_input_tensor(
    portmap: str, np_arr: NDArray[Any]
) -> tuple[int, int, int, int, int, NDArray[np.uint32]]:
    """A region, and the words of `memcpy_h2d` in row-major order. Raises UserError."""
    parsed = parse(portmap)
    if np_arr.size != parsed.offsets.size:
        raise UserError(f"the tensor has {np_arr.size} elements, and its port map "
                        f"{parsed.offsets.size}", notes=[portmap])  # fmt: skip
    flat = np.ascontiguousarray(np_arr).ravel()
    if flat.dtype.itemsize not in (2, 4):
        raise UserError(
            f"elements of {flat.dtype} are not copied", notes=["they have 16 or 32 bits"]
        )
    words = np.zeros(prod(parsed.region[2:]), np.uint32)
    words[parsed.offsets] = flat.view(np.uint16 if flat.dtype.itemsize == 2 else np.uint32)
    return (*parsed.region, words)


def prepare_output_tensor(
    portmap: str, datatype: Any
) -> tuple[int, int, int, int, int, NDArray[np.uint32]]:
    """A region, and the array for `memcpy_d2h` in row-major order. Raises UserError."""
    region = parse(portmap).region
    return (*region, np.zeros(prod(region[2:]), np.uint32))


def format_output_tensor(portmap: str, datatype: Any, data: NDArray[Any]) -> NDArray[Any]:
    """The tensor of a port map from the data of `memcpy_d2h`. Raises UserError."""
    parsed, kind = parse(portmap), np.dtype(datatype)
    words = np.ascontiguousarray(data).ravel().view(np.uint32)[parsed.offsets]
    if kind.itemsize == 2:
        words = words.astype(np.uint16)
    tensor: NDArray[Any] = words.view(kind).reshape(parsed.shape)
    return tensor


def parse(portmap: str) -> PortMap:
    """Parse a port map. Raises UserError."""
    match = _MAP.fullmatch(portmap.strip())
    axes = _AXIS.findall(match[1]) if match else []
    if match is None or _AXIS.sub("", match[1]).replace("]", "").strip():
        raise UserError(
            f"{portmap!r} is not a port map",
            hints=["{ A[j=0:5][i=0:3] -> [PE[i//2, j//3] -> index[i%2, j%3]] }"],
        )
    ranges = [(int(low), int(high or low)) for _, low, high in axes]
    shape = tuple(high - low + 1 for low, high in ranges)
    if min(shape) < 1:
        raise UserError("a range of a port map is empty", notes=[portmap])
    grid = np.indices(shape).reshape(len(shape), -1)
    names = {name: grid[axis] + ranges[axis][0] for axis, (name, _, _) in enumerate(axes)}
    pe, index = (_evaluated(text, names, portmap) for text in match.groups()[1:])
    if len(pe) != 2:
        raise UserError("a PE of a port map has a column and a row", notes=[portmap])
    return _placed(shape, pe, index, portmap)


def _placed(
    shape: tuple[int, ...], pe: Sequence[_Ints], index: Sequence[_Ints], portmap: str
) -> PortMap:
    """The elements of a PE in the order of their indices, which need not begin at 0."""
    columns, rows = pe
    keys = np.stack([rows, columns, *index])
    order = np.lexsort(keys[::-1])
    if np.any(np.all(np.diff(keys[:, order]) == 0, axis=0)):
        raise UserError("a port map gives two elements the same location", notes=[portmap])
    x, y = int(columns.min()), int(rows.min())
    width, height = int(columns.max()) - x + 1, int(rows.max()) - y + 1
    counts = np.bincount((rows - y) * width + columns - x, minlength=width * height)
    if counts.min() != counts.max():
        raise UserError("a port map gives PEs different numbers of elements", notes=[portmap])
    offsets = np.empty(order.size, np.int64)
    offsets[order] = np.arange(order.size)
    return PortMap(shape, (x, y, width, height, int(counts[0])), offsets)


def _evaluated(text: str, names: Mapping[str, _Ints], portmap: str) -> list[_Ints]:
    count = next(iter(names.values())).shape
    try:
        tree = ast.parse(f"({text},)", mode="eval").body
        assert isinstance(tree, ast.Tuple)  # noqa: S101  it ends in a comma
        return [np.broadcast_to(_value(each, names), count) for each in tree.elts]
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, KeyError) as error:
        raise UserError(f"'{text}' is not an expression of a port map", notes=[portmap]) from error


def _value(node: ast.expr, names: Mapping[str, _Ints]) -> Any:
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 1 << 31:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        right = _value(node.right, names)
        if isinstance(node.op, ast.FloorDiv | ast.Div | ast.Mod) and not np.all(right):
            raise ZeroDivisionError
        return _BINARY[type(node.op)](_value(node.left, names), right)
    raise ValueError(ast.dump(node))
