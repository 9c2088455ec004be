# SPDX-License-Identifier: Apache-2.0
"""Builds a kernel's module in the dialect `tile` from its class, parameters and constants."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType as PythonFunction
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.attributes import WARPS
from xtc.ir.builders.tile import location_text, number_of
from xtc.ir.mlir import (
    Context,
    FunctionType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Location,
    Module,
    Type,
    TypeAttr,
    all_operations,
    func,
)
from xtc.ir.tile_dialect import load_tile_dialect
from xtc.tile.instructions.groups import WARP
from xtc.tile.instructions.memory import pointer_type
from xtc.tile.script import Script
from xtc.tile.transcription.syntax import syntax_of
from xtc.tile.transcription.transcriber import Transcriber
from xtc.tile.types import DataType, PointerType
from xtc.tile.values.arithmetic import cast
from xtc.tile.values.errors import shown_at
from xtc.tile.values.promises import number_promises
from xtc.tile.values.runtime import Pointer, Scalar

_CONSTANTS = (int, float, bool, str)
_NUMBERS = (
    *("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "boolean"),
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes:
        kind: a Python type for a compile-time constant, an element type for a run-time number,
            or a pointer type.
    """

    name: str
    kind: type | DataType | PointerType
    default: Any

    @property
    def is_constant(self) -> bool:
        """Whether it is a compile-time constant."""
        return isinstance(self.kind, type)


def parameters(cls: type[Script]) -> tuple[Parameter, ...]:
    """The parameters of a kernel's `__call__`. Raises UserError for an invalid annotation."""
    function = _call_of(cls)
    _require_named(function)
    node, source = syntax_of(function)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise UserError(
            f"an annotation of {cls.__name__}.__call__ is not known: {error}",
            where=source.location(node),
            hints=["annotations are looked up in the module where the kernel is written"],
        ) from None
    found: list[Parameter] = []
    for syntax, parameter in zip(
        [*node.args.args, *node.args.kwonlyargs], signature.parameters.values(), strict=False
    ):
        if not found and parameter.name == "self":
            found.append(Parameter("self", object, None))
            continue
        with shown_at(source, syntax):
            found.append(_parameter(parameter))
    return tuple(found[1:])


def _call_of(cls: type[Script]) -> PythonFunction:
    function = vars(cls).get("__call__") or getattr(cls, "__call__")  # noqa: B004, B009
    if not isinstance(function, PythonFunction):
        raise UserError(
            f"kernel {cls.__name__} has no __call__",
            hints=["def __call__(self, n: int32, x_ptr: ~float32): ..."],
        )
    return function


def _require_named(function: PythonFunction) -> None:
    """Raise UserError for `*args` and `**kwargs`."""
    node, source = syntax_of(function)
    for more, stars in ((node.args.vararg, "*"), (node.args.kwarg, "**")):
        if more is not None:
            with shown_at(source, more):
                raise UserError(
                    f"a kernel cannot have a parameter '{stars}{more.arg}'",
                    hints=["name each of its parameters"],
                )


def _parameter(parameter: inspect.Parameter) -> Parameter:
    kind = parameter.annotation
    if kind is inspect.Parameter.empty:
        raise UserError(
            f"parameter '{parameter.name}' has no annotation",
            hints=["int: a compile-time constant; int32: a run-time number; ~float16: a pointer"],
        )
    known = isinstance(kind, PointerType) or kind in _CONSTANTS
    if not known and not (isinstance(kind, DataType) and kind.name in _NUMBERS):
        raise UserError(
            f"parameter '{parameter.name}' cannot be "
            f"{kind.__name__ if isinstance(kind, type) else kind}",
            notes=[
                "constants are int, float, bool or str, run-time numbers "
                f"{', '.join(_NUMBERS)}, pointers ~float16, ... or void_p"
            ],
        )
    default = parameter.default
    return Parameter(parameter.name, kind, None if default is inspect.Parameter.empty else default)


def transcribed(
    cls: type[Script],
    schedule: tuple[Sequence[Any], Mapping[str, Any]],
    constants: Mapping[str, Any],
    max_warps: int,
) -> Module:
    """Transcribe a kernel to a module in a new context. Raises UserError, mostly KernelError."""
    context = Context()
    load_tile_dialect(context)
    given = parameters(cls)
    with context, Location.unknown():
        module = Module.create()
        types = [_mlir_type(p) for p in given if not p.is_constant]
        with InsertionPoint(module.body):
            function = func.FuncOp(f"{cls.__name__}.tile", (types, []))
        block = function.add_entry_block()
        values = iter(block.arguments)
        made = Script.instance.__func__(cls, *schedule)  # type: ignore[attr-defined]
        with InsertionPoint(block):
            arguments = [
                constants[p.name] if p.is_constant else _value(p, next(values)) for p in given
            ]
            call = _call_of(cls)
            Transcriber().call_function(call, (made, *arguments), {})
            func.ReturnOp([])
        kinds = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = TypeAttr.get(FunctionType.get(kinds, []))
        _finish(cls, made, function, max_warps)
        module.operation.verify()
    return module


def _finish(cls: type[Script], made: Script, function: Any, max_warps: int) -> None:
    node, source = syntax_of(_call_of(cls))
    with shown_at(source, node):
        if made.attrs.blocks is None:
            raise UserError(
                "the kernel does not set self.attrs.blocks",
                hints=["self.attrs.blocks = self.utils.cdiv(n, 128)"],
            )
        warps = made.attrs.warps
        if warps is None:
            raise UserError(
                "the kernel does not set self.attrs.warps", hints=["self.attrs.warps = 4"]
            )
        if warps > max_warps:
            raise UserError(
                f"attrs.warps = {warps}",
                notes=[f"a block has 1 to {max_warps}"],
                hints=["share the work among more blocks: self.attrs.blocks"],
            )
        top = [op.operation.name for op in function.entry_block.operations]
        grids = [op.name for op in all_operations(function.operation) if op.name == "tile.grid"]
        if len(grids) != 1 or "tile.grid" not in top:
            raise UserError(
                "attrs.blocks is set once, outside of run-time loops and branches",
                hints=["compute it from the kernel's parameters, before the first branch"],
            )
        i64 = IntegerType.get_signless(64)
        function.operation.attributes[WARPS] = IntegerAttr.get(i64, warps)
    _require_groups(function, warps)
    number_promises(function.operation)


def _require_groups(function: Any, warps: int) -> None:
    """Raise UserError if a group has threads that do not exist in a block."""
    for op in all_operations(function.operation):
        if op.name == "tile.in_group":
            begin, size = number_of(op, "begin"), number_of(op, "size")
            if begin + size > warps * WARP:
                raise UserError(
                    f"thread_group: threads {begin} to {begin + size - 1} of {warps * WARP}",
                    where=location_text(op.location),
                    notes=[f"attrs.warps = {warps}, of {WARP} threads each"],
                    hints=["share the work among more blocks: self.attrs.blocks"],
                )


def _mlir_type(parameter: Parameter) -> Type:
    if isinstance(parameter.kind, PointerType):
        return pointer_type(parameter.kind.element)
    assert isinstance(parameter.kind, DataType)  # noqa: S101
    return Type.parse(parameter.kind.argument.mlir)


def _value(parameter: Parameter, value: Any) -> Any:
    if isinstance(parameter.kind, PointerType):
        return Pointer(value, parameter.kind.element)
    assert isinstance(parameter.kind, DataType)  # noqa: S101
    return cast(Scalar(value, parameter.kind.argument), parameter.kind)


__all__ = ["Parameter", "parameters", "transcribed"]
