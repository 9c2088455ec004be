# SPDX-License-Identifier: Apache-2.0
"""Built-in functions that create and change descriptors."""

from __future__ import annotations

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import descriptor as d
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.accesses import parts_of
from xtc_targets.wse.sema.arithmetic import binary
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.builtins.types import fields_of
from xtc_targets.wse.sema.convert import convert
from xtc_targets.wse.sema.evaluate import evaluate, integer_of, type_of
from xtc_targets.wse.sema.frame import Frame, Memory
from xtc_targets.wse.sema.lvalues import location_of, pointed, value_of
from xtc_targets.wse.sema.values import (
    VOID,
    AccessValue,
    Address,
    Const,
    DsdValue,
    Run,
    Value,
    integer,
)

_MEMORY = ("tensor_access", "base_address", "extent", "offset", "stride", "wavelet_index_offset",
           "strides", "extents")  # fmt: skip
_FABRIC = ("fabric_color", "extent", "input_queue", "output_queue", "control", "advance_switch",
           "wavelet_index_offset", "priority", "ut_id", "simd_mode", "zero",
           "control_transform")  # fmt: skip
_SIMD = ("simd_32", "simd_64", "simd_32_or_64")
_ZERO = {"first_source": d.ZERO_FIRST, "second_source": d.ZERO_SECOND}


@builtin("get_dsd", 2)
def _get_dsd(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    if not isinstance(kind, t.Dsd):
        raise CslError(f"{kind} is not a type of descriptors", where=call.at)
    given = fields_of(evaluate(frame, call.args[1]), "a descriptor's parts", call.at)
    known = _MEMORY if kind in (t.MEM1D, t.MEM4D) else _FABRIC
    for name in given:
        if name not in known:
            raise CslError(
                f"a {kind} has no '{name}'", where=call.at, hints=did_you_mean(name, known)
            )
    if kind in (t.MEM1D, t.MEM4D):
        return _memory(frame, kind, given, call.at)
    return _fabric(frame, kind, given, call.at)


def _memory(frame: Frame, kind: t.Dsd, given: dict[str, Value], at: Position) -> Value:
    index: Value = d.number(int(_is_true(given.get("wavelet_index_offset", integer(0)))))
    access = given.get("tensor_access")
    if isinstance(access, Const) and isinstance(access.value, AccessValue):
        return _accessed(frame, kind, access.value, index, at)
    if access is not None:  # the equivalent struct of a tensor access
        given = given | fields_of(access, "a tensor access", at)
    missing = [name for name in ("base_address", "extent") if name not in given]
    if missing:
        raise CslError(f"a {kind} without a tensor_access has no '{missing[0]}'", where=at)
    pointer = given["base_address"]
    location = pointed(frame, pointer, at)
    element = location.type.element if isinstance(location.type, t.Array) else location.type
    extents, strides = _shape_of(frame, kind, given, at)
    address = location.address
    base: Address | Value = address if isinstance(address, Address) else Run(t.U16, address)
    words = d.memory_words(kind, base, element, extents, strides, index)
    value = words.value(frame, at)
    if "offset" in given:
        return moved(frame, value, given["offset"], element.size, at)
    return value


def _shape_of(
    frame: Frame, kind: t.Dsd, given: dict[str, Value], at: Position
) -> tuple[list[Value], list[Value]]:
    """Extents and strides of the indices, the slowest first.

    Programs give distances from the last element of the inner indices, the fastest index first.
    """
    extents = _several(given["extent"])
    jumps = _several(given["stride"]) if "stride" in given else [integer(1)] * len(extents)
    if len(extents) != len(jumps) or len(extents) > (1 if kind == t.MEM1D else 4):
        raise CslError(f"a {kind} with {len(extents)} extents and {len(jumps)} strides", where=at)
    strides: list[Value] = []
    inside: Value = integer(0)
    for extent, jump in zip(reversed(extents), jumps, strict=True):
        stride = binary(frame, "+", convert(frame, jump, t.I16, at), inside, at)
        strides.insert(0, stride)
        last = binary(frame, "-", convert(frame, extent, t.I16, at), integer(1), at)
        inside = binary(frame, "+", inside, binary(frame, "*", last, stride, at), at)
    return extents, strides


def _several(value: Value) -> list[Value]:
    """The values of a tuple, or the given single value."""
    if isinstance(value, Const) and isinstance(value.value, dict):
        return list(value.value.values())
    return [value]


def _accessed(frame: Frame, kind: t.Dsd, access: AccessValue, index: Value, at: Position) -> Value:
    """The descriptor of `|i|{M} -> A[...]`: location of the first element, and strides."""
    if len(access.tree.names) > (1 if kind == t.MEM1D else 4):
        raise CslError(f"a {kind} with {len(access.tree.names)} indices", where=access.tree.at)
    parts = parts_of(access)
    first = parts.offset * parts.element.size
    start: Address | Value
    if isinstance(parts.base.address, Address):
        start = Address(parts.base.address.base, parts.base.address.offset + first)
    else:
        start = Run(t.U16, frame.running(at).value(f"add i16 {parts.base.address}, {first}"))
    strides = [integer(each) for each in parts.strides]
    return d.memory_words(kind, start, parts.element, parts.extents, strides, index).value(
        frame, at
    )


def _fabric(frame: Frame, kind: t.Dsd, given: dict[str, Value], at: Position) -> Value:
    incoming = kind == t.FABIN
    queue = given.get("input_queue" if incoming else "output_queue")
    if "extent" not in given:
        raise CslError(f"a {kind} has no 'extent'", where=at)
    by_queue = frame.program.arch.data_tasks_by_queue
    if queue is None and by_queue:
        raise CslError(
            f"a {kind} has no '{'input' if incoming else 'output'}_queue'",
            where=at,
            notes=[f"on {frame.program.arch.name} it needs a queue"],
        )
    if "fabric_color" not in given and queue is None:
        raise CslError(f"a {kind} has neither a color nor a queue", where=at)
    flags = d.CONTROL if _is_true(given.get("control", integer(0))) else 0
    flags |= d.ADVANCE if _is_true(given.get("advance_switch", integer(0))) else 0
    flags |= d.TRANSFORM if _is_true(given.get("control_transform", integer(0))) else 0
    if _chosen(given, "simd_mode", _SIMD, at):
        flags |= d.PAIRS
    zero = _chosen(given, "zero", tuple(_ZERO), at)
    if zero and incoming:
        raise CslError("only a fabout_dsd has 'zero'", where=at)
    flags |= _ZERO.get(zero, 0)
    values: dict[int, Value] = {
        d.KIND: d.number(d.KINDS[kind]),
        d.QUEUE: queue if queue is not None else d.number(0xFFFF),
        d.FABRIC_EXTENT: given["extent"],
    }
    if "fabric_color" in given:
        color = integer_of(given["fabric_color"], "a descriptor's color", at)
        values[d.COLOR] = d.number(color + 1)
    if "wavelet_index_offset" in given:
        offset = given["wavelet_index_offset"]
        flags |= d.INDEXED
        if offset.type != t.BOOL:
            values[5] = offset
    if "ut_id" in given:
        values[d.UT] = d.number(integer_of(given["ut_id"], "a microthread", at) + 1)
    values[d.FLAGS] = d.number(flags)
    return d.Words(kind, values).value(frame, at)


def _chosen(given: dict[str, Value], name: str, choices: tuple[str, ...], at: Position) -> str:
    """The name of the true field in a struct such as `.{ .simd_32 = true }`, or ""."""
    if name not in given:
        return ""
    fields = fields_of(given[name], f"'{name}'", at)
    for each in fields:
        if each not in choices:
            raise CslError(f"'{name}' has no '{each}'", where=at, hints=did_you_mean(each, choices))
    chosen = [each for each, value in fields.items() if _is_true(value)]
    if len(chosen) > 1:
        raise CslError(f"'{name}' allows one choice", where=at, notes=[", ".join(choices)])
    return chosen[0] if chosen else ""


def _is_true(value: Value) -> bool:
    return isinstance(value, Const) and bool(value.value)


def moved(frame: Frame, value: Value, offset: Value, step: int, at: Position) -> Value:
    """A memory descriptor shifted by `offset` elements of `step` bytes."""
    if isinstance(value, Const) and isinstance(offset, Const):
        known: DsdValue = value.value
        by = int(offset.value) * step
        if known.base is not None:
            base = Address(known.base.base, known.base.offset + by)
            return Const(value.type, DsdValue(known.words, base, known.element))
    slot = d.copied(frame, value, at)
    narrow = convert(frame, offset, t.I16, at)
    code = frame.running(at)
    nbytes = code.value(f"mul i16 {frame.operand(narrow, t.I16, at)}, {step}")
    before = d.load_word(frame, slot, d.BASE, at)
    d.store_word(frame, slot, d.BASE, code.value(f"add i16 {before}, {nbytes}", 4), at)
    return Run(value.type, slot)


def _dsd(frame: Frame, call: tree.Builtin) -> Value:
    value = evaluate(frame, call.args[0])
    if not isinstance(value.type, t.Dsd):
        raise CslError(f"@{call.name} takes a descriptor, not a {value.type}", where=call.at)
    return value


@builtin("increment_dsd_offset", 3)
def _increment_dsd_offset(frame: Frame, call: tree.Builtin) -> Value:
    value, offset = _dsd(frame, call), evaluate(frame, call.args[1])
    return moved(frame, value, offset, type_of(frame, call.args[2]).size, call.at)


def _changed(frame: Frame, value: Value, number: int, word: Value, at: Position) -> Value:
    if isinstance(value, Const) and isinstance(word, Const) and not isinstance(word.value, Address):
        known: DsdValue = value.value
        words = list(known.words)
        words[number] = int(word.value)
        return Const(value.type, DsdValue(tuple(words), known.base, known.element))
    slot = d.copied(frame, value, at)
    if not isinstance(word.type, t.Pointer):
        word = convert(frame, word, t.U16, at)
    d.store_word(frame, slot, number, frame.operand(word, word.type, at), at)
    frame.running(at).charge(4)
    return Run(value.type, slot)


@builtin("set_dsd_length", 2)
def _set_dsd_length(frame: Frame, call: tree.Builtin) -> Value:
    value, length = _dsd(frame, call), evaluate(frame, call.args[1])
    word = d.FABRIC_EXTENT if value.type in (t.FABIN, t.FABOUT) else d.EXTENTS
    return _changed(frame, value, word, length, call.at)


@builtin("set_dsd_stride", 2)
def _set_dsd_stride(frame: Frame, call: tree.Builtin) -> Value:
    value, stride = _dsd(frame, call), evaluate(frame, call.args[1])
    return _changed(frame, value, d.STRIDES, convert(frame, stride, t.I16, call.at), call.at)


@builtin("set_dsd_base_addr", 2)
def _set_dsd_base_addr(frame: Frame, call: tree.Builtin) -> Value:
    value, pointer = _dsd(frame, call), _base_address(frame, call)
    if isinstance(value, Const) and isinstance(pointer, Const):
        known: DsdValue = value.value
        return Const(value.type, DsdValue(known.words, pointer.value, known.element))
    return _changed(frame, value, d.BASE, pointer, call.at)


def _base_address(frame: Frame, call: tree.Builtin) -> Value:
    """The address of the second argument, an array or a pointer."""
    found = location_of(frame, call.args[1])
    if isinstance(found, Memory) and isinstance(found.type, t.Array):
        pointer: Value
        if isinstance(found.address, Address):
            pointer = Const(t.Pointer(found.type), found.address)
        else:
            pointer = Run(t.Pointer(found.type), found.address)
    else:
        pointer = value_of(frame, found, call.at)
    if not isinstance(pointer.type, t.Pointer):
        raise CslError(f"a base is a pointer or an array, not a {pointer.type}", where=call.at)
    return pointer


def _register(frame: Frame, call: tree.Builtin) -> str:
    """The number of a descriptor register over all banks, as an operand."""
    register = evaluate(frame, call.args[0])
    if register.type not in t.DSRS:
        raise CslError(f"a {register.type} is not a descriptor register", where=call.at)
    number = integer_of(register, "a descriptor register", call.at)
    return f"i32 {16 * t.DSRS.index(register.type) + number}"


@builtin("set_dsr_base_addr", 2)
def _set_dsr_base_addr(frame: Frame, call: tree.Builtin) -> Value:
    number = _register(frame, call)
    pointer = _base_address(frame, call)
    word = frame.operand(pointer, pointer.type, call.at)
    return _set_register(frame, number, d.BASE, word, call)


@builtin("set_dsr_length", 2)
def _set_dsr_length(frame: Frame, call: tree.Builtin) -> Value:
    """Set the length of a vector in memory or of wavelets, which is in the same word."""
    number = _register(frame, call)
    length = convert(frame, evaluate(frame, call.args[1]), t.U16, call.at)
    return _set_register(frame, number, d.EXTENTS, frame.operand(length, t.U16, call.at), call)


def _set_register(frame: Frame, number: str, word: int, text: str, call: tree.Builtin) -> Value:
    code = frame.running(call.at)
    code.charge(4)
    code.call("void", "wse_set_dsr", number, f"i16 {word}", f"i16 {text}")
    return VOID


def _fifo_length(name: str, reads: bool) -> None:
    @builtin(name, 2)
    def set_length(frame: Frame, call: tree.Builtin) -> Value:
        value = evaluate(frame, call.args[0])
        if value.type != t.FIFO or not isinstance(value, Const):
            raise CslError(f"@{name} takes a FIFO that is known at compile time", where=call.at)
        length = convert(frame, evaluate(frame, call.args[1]), t.U16, call.at)
        text, code = frame.operand(length, t.U16, call.at), frame.running(call.at)
        number = value.value.words[d.FIFO_NUMBER]
        code.charge(4)
        code.call("void", "wse_set_fifo_length", f"i32 {number}", f"i16 {text}", f"i1 {int(reads)}")
        return VOID


_fifo_length("set_fifo_read_length", True)
_fifo_length("set_fifo_write_length", False)


@builtin("load_to_dsr", 2, 3)
def _load_to_dsr(frame: Frame, call: tree.Builtin) -> Value:
    from xtc_targets.wse.sema.builtins.operations import options_of

    number = _register(frame, call)
    value = evaluate(frame, call.args[1])
    if not isinstance(value.type, t.Dsd):
        raise CslError(f"a descriptor is loaded, not a {value.type}", where=call.at)
    given = evaluate(frame, call.args[2]) if len(call.args) == 3 else None
    options = options_of(frame, given, call.at)
    code = frame.running(call.at)
    code.charge(4)
    text = frame.operand(value, value.type, call.at)
    code.call("void", "wse_load_dsr", number, f"ptr {text}", f"ptr {options}")
    return VOID
