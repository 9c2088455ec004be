# SPDX-License-Identifier: Apache-2.0
"""Conversions between types: implicit ones, those of `@as`, and bit casts."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.code import llvm_type
from xtc_targets.wse.sema.values import Address, Const, Items, Run, Value

if TYPE_CHECKING:
    from xtc_targets.wse.sema.frame import Frame

_NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def rounded(value: float, kind: t.Float) -> float:
    """Round to the nearest value of a type, ties to even."""
    with np.errstate(over="ignore"):
        return float(_NUMPY[kind.name](value))


def float_bits(value: float, kind: t.Float) -> int:
    """The bits of a number as a float of `kind`."""
    return int.from_bytes(_NUMPY[kind.name](value).tobytes(), "little")


def bits_float(bits: int, kind: t.Float) -> float:
    """The number with these bits as a float of `kind`."""
    return float(np.frombuffer(bits.to_bytes(kind.size, "little"), _NUMPY[kind.name])[0])


def mismatch(found: t.Type, wanted: t.Type, at: Position) -> CslError:
    """The error for a value of the wrong type."""
    hints = []
    if t.is_number(found) and t.is_number(wanted):
        hints.append(f"@as({wanted}, ...) converts")
    return CslError(f"expected a value of type {wanted}, not {found}", where=at, hints=hints)


def coerce(frame: Frame, value: Value, wanted: t.Type, at: Position) -> Value:
    """Convert `value` to `wanted` without loss. Raises CslError if that is impossible."""
    if value.type == wanted or wanted == t.ANYTYPE:
        return value
    if isinstance(value, Const):
        return _coerced_const(frame, value, wanted, at)
    found = value.type
    if isinstance(found, t.Pointer) and isinstance(wanted, t.Pointer):
        _check_pointers(found, wanted, at)
        return Run(wanted, value.text)
    if not _widens(found, wanted):
        raise mismatch(found, wanted, at)
    return convert(frame, value, wanted, at)


def _coerced_const(frame: Frame, value: Const, wanted: t.Type, at: Position) -> Value:
    found = value.type
    if isinstance(wanted, t.Int) and t.is_integer(found):
        if not wanted.lowest <= value.value <= wanted.highest:
            raise CslError(f"{value.value} does not fit in {wanted}", where=at)
        return Const(wanted, value.value)
    if isinstance(wanted, t.Float) and t.is_number(found):
        if isinstance(found, t.Int) or (isinstance(found, t.Float) and found.bits > wanted.bits):
            raise mismatch(found, wanted, at)
        return Const(wanted, rounded(_as_float(value.value, at), wanted))
    if wanted == t.COMPTIME_INT and t.is_integer(found):
        return Const(wanted, value.value)
    if wanted == t.COMPTIME_FLOAT and t.is_number(found):
        return Const(wanted, _as_float(value.value, at))
    if isinstance(found, t.Pointer) and isinstance(wanted, t.Pointer):
        _check_pointers(found, wanted, at)
        return Const(wanted, value.value)
    if found == t.ANONYMOUS:
        return _coerced_fields(frame, value, wanted, at)
    if isinstance(found, t.Array) and isinstance(wanted, t.Array):
        return _coerced_array(frame, value, wanted, at)
    called = wanted.element if isinstance(wanted, t.Pointer) else wanted
    if isinstance(found, t.Fn) and isinstance(called, t.Fn):
        return Const(wanted, value.value)
    if isinstance(found, t.Struct) and wanted == t.ANONYMOUS:
        return Const(wanted, value.value)
    if found == t.ACCESS and wanted == t.ANONYMOUS:
        return frame.program.struct_of_access(value.value)
    if wanted == t.DIRECTION and t.is_integer(found):
        return Const(wanted, value.value)
    raise mismatch(found, wanted, at)


def _coerced_fields(frame: Frame, value: Const, wanted: t.Type, at: Position) -> Value:
    given: dict[str, Value] = value.value
    if isinstance(wanted, t.Array) and len(wanted.shape) == 1 and len(given) == wanted.count:
        items = [coerce(frame, each, wanted.element, at) for each in given.values()]
        return frame.array_of(wanted, items)
    if not isinstance(wanted, t.Struct):
        raise mismatch(value.type, wanted, at)
    names = [name for name, _ in wanted.fields]
    for name in given:
        if name not in names:
            raise CslError(f"{wanted} has no field '{name}'", where=at, notes=[_listed(names)])
    missing = [name for name in names if name not in given]
    if wanted.union and len(given) != 1:
        raise CslError(f"a value of the union {wanted} has one field", where=at)
    if missing and not wanted.union:
        raise CslError(f"the field '{missing[0]}' of {wanted} is missing", where=at)
    parts = {
        name: coerce(frame, given[name], kind, at) for name, kind in wanted.fields if name in given
    }
    return frame.struct_of(wanted, parts)


def _coerced_array(frame: Frame, value: Const, wanted: t.Array, at: Position) -> Value:
    found = value.type
    assert isinstance(found, t.Array)  # noqa: S101  the caller has checked
    if found.shape != wanted.shape:
        raise mismatch(found, wanted, at)
    flat = [
        _coerced_const(frame, Const(found.element, each), wanted.element, at)
        for each in value.value.flat
    ]
    return Const(wanted, Items([each.value for each in flat if isinstance(each, Const)]))


def _listed(names: list[str]) -> str:
    return "it has " + ", ".join(names)


def _as_float(value: Any, at: Position) -> float:
    try:
        return float(value)
    except OverflowError:
        raise CslError("the number is too large for a float", where=at) from None


def _widens(found: t.Type, wanted: t.Type) -> bool:
    if isinstance(found, t.Int) and isinstance(wanted, t.Int):
        return wanted.lowest <= found.lowest and found.highest <= wanted.highest
    if isinstance(found, t.Float) and isinstance(wanted, t.Float):
        return found.bits < wanted.bits
    return False


def _check_pointers(found: t.Pointer, wanted: t.Pointer, at: Position) -> None:
    target = found.element
    if wanted.many and not found.many and isinstance(target, t.Array):
        target = target.element
    fits = target == wanted.element and (wanted.many or not found.many)
    if not fits or (found.const and not wanted.const):
        raise CslError(
            f"expected a value of type {wanted}, not {found}",
            where=at,
            hints=[f"@ptrcast({wanted}, ...) converts"],
        )


def peer(left: t.Type, right: t.Type, at: Position) -> t.Type:
    """The common type of an operation on two values. Raises CslError."""
    for first, second in ((left, right), (right, left)):
        if first == second or (t.is_number(first) and second == t.COMPTIME_INT):
            return first
        if t.is_float(first) and second == t.COMPTIME_FLOAT:
            return first
        if _widens(second, first):
            return first
        if isinstance(first, t.Pointer) and isinstance(second, t.Pointer):
            return first
    raise CslError(f"{left} and {right} have no common type", where=at, hints=["@as converts"])


def convert(frame: Frame, value: Value, wanted: t.Type, at: Position) -> Value:
    """`@as(wanted, value)`. Raises CslError if there is no conversion."""
    if value.type == wanted:
        return value
    if isinstance(value, Const):
        return _converted_const(frame, value, wanted, at)
    found = value.type
    instruction = _conversion(found, wanted)
    if instruction is None:
        return coerce(frame, value, wanted, at)
    if not instruction or llvm_type(found) == llvm_type(wanted):
        return Run(wanted, value.text)
    code = frame.running(at)
    if wanted == t.BOOL:
        return Run(wanted, code.value(f"icmp ne {llvm_type(found)} {value.text}, 0", 1))
    text = f"{instruction} {llvm_type(found)} {value.text} to {llvm_type(wanted)}"
    return Run(wanted, code.value(text, 1))


def _conversion(found: t.Type, wanted: t.Type) -> str | None:
    """The instruction of a conversion; "" to keep the bits, None if there is no conversion."""
    source, target = _number_type(found), _number_type(wanted)
    if isinstance(source, t.Int) and isinstance(target, t.Int):
        if target.bits <= source.bits:
            return "trunc" if target.bits < source.bits else ""
        return "sext" if source.signed else "zext"
    if isinstance(source, t.Int) and isinstance(target, t.Float):
        return "sitofp" if source.signed else "uitofp"
    if isinstance(source, t.Float) and isinstance(target, t.Int):
        return "fptosi" if target.signed else "fptoui"
    if isinstance(source, t.Float) and isinstance(target, t.Float):
        return "fptrunc" if target.bits < source.bits else "fpext"
    return None


def _number_type(kind: t.Type) -> t.Type:
    if isinstance(kind, t.Enum):
        return kind.base
    if isinstance(kind, t.Handle):
        return t.U16
    return t.Int(1, False) if kind == t.BOOL else kind


def _converted_const(frame: Frame, value: Const, wanted: t.Type, at: Position) -> Value:
    number = value.value
    if isinstance(number, bool | int | float) and not isinstance(wanted, t.Handle | t.Enum):
        if isinstance(wanted, t.Int | t.Simple) and t.is_integer(wanted):
            if isinstance(number, float) and not math.isfinite(number):
                raise CslError(f"{number} is not an integer", where=at)
            whole = int(number)
            return Const(wanted, wanted.wrapped(whole) if isinstance(wanted, t.Int) else whole)
        if isinstance(wanted, t.Float):
            return Const(wanted, rounded(_as_float(number, at), wanted))
        if wanted == t.COMPTIME_FLOAT:
            return Const(wanted, _as_float(number, at))
        if wanted == t.BOOL:
            return Const(wanted, bool(number))
    if isinstance(number, int) and isinstance(wanted, t.Enum | t.Handle):
        return Const(wanted, number)
    return coerce(frame, value, wanted, at)


def bitcast(frame: Frame, value: Value, wanted: t.Type, at: Position) -> Value:
    """The same bits as a value of another type of equal size."""
    found = value.type
    if value.type == t.COMPTIME_INT and isinstance(wanted, t.Int | t.Float):
        return _from_bits(value.value, wanted) if isinstance(value, Const) else value
    known = isinstance(found, t.Int | t.Float | t.Enum | t.Handle | t.Pointer) or found == t.BOOL
    if not known or not t.is_runtime(wanted) or found.size != wanted.size:
        raise CslError(
            f"a value of type {found} cannot be reinterpreted as {wanted}",
            where=at,
            notes=[f"{found} has {found.size} bytes, {wanted} has {wanted.size}"],
        )
    if isinstance(value, Const) and not isinstance(value.value, Address):
        bits = float_bits(value.value, found) if isinstance(found, t.Float) else int(value.value)
        return _from_bits(bits, wanted)
    text = frame.operand(value, found, at)
    source, target = llvm_type(found), llvm_type(wanted)
    if isinstance(wanted, t.Pointer) and isinstance(found, t.Int):
        return Run(replace(wanted, number=True), text)
    if source == target:
        return Run(wanted, text)
    return Run(wanted, frame.running(at).value(f"bitcast {source} {text} to {target}"))


def _from_bits(bits: int, wanted: t.Type) -> Const:
    if isinstance(wanted, t.Float):
        return Const(wanted, bits_float(bits & ((1 << wanted.bits) - 1), wanted))
    if isinstance(wanted, t.Int):
        return Const(wanted, wanted.wrapped(bits))
    return Const(wanted, bits)


def constant_text(value: Any, kind: t.Type) -> str:
    """A scalar constant in LLVM's syntax."""
    if kind == t.BOOL:
        return "true" if value else "false"
    if not isinstance(kind, t.Float):
        return str(int(value))
    if kind.bits == 16 and kind.name in ("f16", "bf16"):
        return f"0x{'H' if kind.name == 'f16' else 'R'}{float_bits(value, kind):04X}"
    wide = struct.unpack("<Q", struct.pack("<d", rounded(value, kind)))[0]
    return f"0x{wide:016X}"


def constant_bytes(value: Any, kind: t.Type) -> bytes:
    """The bytes of a constant in memory. Addresses must already be numbers."""
    if isinstance(kind, t.Float):
        return float_bits(value, kind).to_bytes(kind.size, "little")
    if isinstance(kind, t.Array):
        return b"".join(constant_bytes(each, kind.element) for each in value.flat)
    if isinstance(kind, t.Struct):
        data = bytearray(kind.size)
        for name, offset in kind.offsets.items():
            part = kind.field_type(name)
            assert part is not None  # noqa: S101  offsets name fields
            if name not in value:  # only one field of a union is present
                continue
            each = constant_bytes(value[name].value, part)
            data[offset : offset + len(each)] = each
        return bytes(data)
    return (int(value) & ((1 << (8 * kind.size)) - 1)).to_bytes(kind.size, "little")
