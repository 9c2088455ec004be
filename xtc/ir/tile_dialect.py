# SPDX-License-Identifier: Apache-2.0
"""The dialect `tile`: operations of a thread block on tiles that no upstream dialect has.

A tile in registers is a `tensor` with an encoding `#tile.layout<"...">`, its register layout, once
that is inferred. A tile in shared memory is a `memref` in space 2; global memory is a strided
`memref` in space 1. Arithmetic on tiles uses `arith` and `math`, control flow uses `scf`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtc.core.errors import CompileError
from xtc.core.tile_layout import RegisterLayout, parse_layout
from xtc.ir.mlir import Attribute, Context, RankedTensorType, Type

if TYPE_CHECKING:
    from xtc.ir.mlir import Value

DIALECT = "tile"

_OPERATIONS = {
    # name: operands (a star marks variadic operands), results, attributes
    "grid": ("x y z", "", ""),
    "block_id": ("", "result", "dim"),
    "grid_dim": ("", "result", "dim"),
    "assume": ("condition", "", ""),
    "load_global": ("source offsets*", "result", "dims"),
    "store_global": ("value destination offsets*", "", "dims"),
    "load_shared": ("source", "result", ""),
    "store_shared": ("value destination", "", ""),
    "copy_async": ("source destination offsets*", "", "dims check_bounds"),
    "commit_group": ("", "", ""),
    "wait_group": ("", "", "n"),
    "wait_all": ("", "", ""),
    "sync": ("", "", ""),
    "dot": ("a b c", "result", ""),
    "indices": ("", "result", "dim"),
    "reduce": ("source", "result", "dim kind"),
    "broadcast": ("source", "result", ""),
    "transpose": ("source", "result", "dims"),
    "reshape": ("source", "result", ""),
    "convert_layout": ("source", "result", ""),
    "annotate_layout": ("source", "result", "layout"),
    "item": ("source", "result", ""),
    "view": ("source", "result", "from_bits to_bits layout"),
    "scan": ("source", "result", "dim kind exclusive"),
    "atomic": ("destination values extras*", "result", "kind dim order"),
    "store_scatter": ("value destination indices", "", "dim"),
    "buffer": ("memory sizes*", "", "clean"),
    "lock": ("semaphore offset value", "", ""),
    "release": ("semaphore offset value", "", ""),
    "printf": ("values*", "", "format"),
    "inside": ("source offsets*", "result", "dims layout"),
    "in_group": ("", "result", "begin size"),
    "mbarrier_alloc": ("", "result", "counts"),
    "mbarrier_arrive": ("barrier index count", "", ""),
    "mbarrier_expect": ("barrier index nbytes", "", ""),
    "mbarrier_wait": ("barrier index phase", "", ""),
    "fence_proxy": ("", "", "space"),
    "tma_load": ("source destination barrier index offsets*", "", "dims"),
    "tma_multicast": ("source destination barrier index mask offsets*", "", "dims"),
    "cluster_sync": ("", "", ""),
    "cluster_arrive": ("barrier index mask count nbytes", "", ""),
    "tma_store": ("source destination offsets*", "", "dims"),
    "tma_commit": ("", "", ""),
    "tma_wait": ("", "", "n read"),
    "tensor_map": ("map source", "", "box swizzle"),
    "wgmma": ("a b c", "result", ""),
    "wgmma_fence": ("", "", ""),
    "wgmma_commit": ("", "", ""),
    "wgmma_wait": ("", "", "n"),
    "set_registers": ("", "", "count increase"),
}


def load_tile_dialect(context: Context) -> None:
    """Register the dialect in a context, unless it is registered already."""
    from xtc.ir.mlir_irdl import is_loaded, load_dialect

    if not is_loaded(context, f"{DIALECT}.sync"):
        load_dialect(context, DIALECT, _definition())


def layout_of(type: Type | Value) -> RegisterLayout | None:
    """The layout of a tile or a tile type; None before inference."""
    tensor = RankedTensorType(type if isinstance(type, Type) else type.type)
    if tensor.encoding is None:
        return None
    text = str(tensor.encoding)
    return parse_layout(text[text.index('"') + 1 : text.rindex('"')])


def known_layout(type: Type | Value) -> RegisterLayout:
    """The layout of a tile or a tile type. Raises CompileError before inference."""
    found = layout_of(type)
    if found is None:
        raise CompileError("a tile has no layout", hints=["run infer-tile-layouts first"])
    return found


def with_layout(type: Type, layout: RegisterLayout | None) -> RankedTensorType:
    """The tile type with this layout."""
    tensor = RankedTensorType(type)
    encoding = None if layout is None else Attribute.parse(f'#{DIALECT}.layout<"{layout}">')
    return RankedTensorType.get(tensor.shape, tensor.element_type, encoding)


def _definition() -> str:
    operations = "\n".join(_operation(name, *parts) for name, parts in _OPERATIONS.items())
    return f"""irdl.dialect @{DIALECT} {{
  irdl.attribute @layout {{
    %any = irdl.any
    irdl.parameters(text: %any)
  }}
  {operations}
}}"""


def _operation(name: str, operands: str, results: str, attributes: str) -> str:
    lines, count = [], 0
    for keyword, text in (("operands", operands), ("results", results), ("attributes", attributes)):
        parts = []
        for word in text.split():
            lines.append(f"%v{count} = irdl.any")
            field = word.rstrip("*")
            if keyword == "attributes":
                parts.append(f'"{field}" = %v{count}')
            else:
                parts.append(f"{field}: {'variadic ' if word.endswith('*') else ''}%v{count}")
            count += 1
        if parts:
            joined = ", ".join(parts)
            body = f" {{{joined}}}" if keyword == "attributes" else f"({joined})"
            lines.append(f"irdl.{keyword}{body}")
    return f"irdl.operation @{name} {{\n    " + "\n    ".join(lines) + "\n  }"
