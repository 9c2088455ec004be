# SPDX-License-Identifier: Apache-2.0
"""Built-in functions that operate on whole descriptors."""

from __future__ import annotations

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import descriptor as d
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.builtins.tile import task_operand
from xtc_targets.wse.sema.builtins.types import fields_of
from xtc_targets.wse.sema.code import llvm_type
from xtc_targets.wse.sema.convert import coerce, convert
from xtc_targets.wse.sema.costs import CALL, MAPPED, RETURN
from xtc_targets.wse.sema.evaluate import evaluate
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import VOID, Const, FunctionValue, Run, Value

_OPERATIONS = (
    "mov16 mov32 fmovh fmovs faddh fadds faddhs fsubh fsubs fmulh fmuls fmach fmacs fmachs "
    "fmaxh fmaxs fnegh fnegs fabsh fabss fh2s fs2h add16 sub16 and16 or16 xor16 sll16 slr16 sar16 "
    "xp162fh xp162fs fh2xp16 fs2xp16 add32 sub32 fminh fmins addc16 fscaleh fscales popcnt clz ctz"
).split()
_DFILT = len(_OPERATIONS)
"""In the order of `enum wse_operation` of `csrc/wse_code.h`."""

_SOURCES = {"fmach": 3, "fmacs": 3, "fmachs": 3}
_ONE_SOURCE = (
    "mov16 mov32 fmovh fmovs fnegh fnegs fabsh fabss fh2s fs2h xp162fh xp162fs fh2xp16 fs2xp16 "
    "popcnt clz ctz"
).split()
_COUNTS = ("popcnt", "clz", "ctz")
_F32_SOURCES = ("fs2h", "fs2xp16")
_F16_SOURCES = ("fh2s", "fh2xp16")

ASYNC, ACTIVATE, UNBLOCK, INDEX, UT, SAVE = 1, 2, 4, 8, 16, 32
_ON_CONTROL = {"terminate": 64, "activate": 128, "unblock": 256}
_OPTIONS = ("async", "activate", "unblock", "index", "ut_id", "save_address", "priority",
            "on_control", "single_step")  # fmt: skip
OPTION_BYTES, OPERAND_BYTES = 16, 16


def element_of(name: str, source: bool) -> t.Type:
    """The type of the scalar operands or results of an operation."""
    if name in ("mov32", "add32", "sub32"):
        return t.U32
    if name in _COUNTS or (name.endswith("16") and name[0] != "f"):
        return t.U16
    if source and name in _F16_SOURCES:
        return t.F16
    if source and name in _F32_SOURCES:
        return t.F32
    if name in ("fs2h", "xp162fh"):
        return t.F16 if not source else t.U16
    if name in ("fh2xp16", "fs2xp16"):
        return t.U16
    if name == "xp162fs":
        return t.U16 if source else t.F32
    return t.F32 if name.endswith("s") else t.F16


def options_of(frame: Frame, given: Value | None, at: Position) -> str:
    """The settings after an operation's operands, as a pointer to a struct."""
    code = frame.running(at)
    fields = {} if given is None else fields_of(given, "an operation's settings", at)
    for name in fields:
        if name not in _OPTIONS:
            raise CslError(
                f"an operation has no '{name}'", where=at, hints=did_you_mean(name, _OPTIONS)
            )
    slot = code.slot(f"[{OPTION_BYTES} x i8]")
    flags = 0
    for name, bit, offset in (("activate", ACTIVATE, 4), ("unblock", UNBLOCK, 6)):
        if name in fields:
            flags |= bit
            _store(frame, slot, offset, "i16", task_operand(frame, fields[name], at), at)
    for name, bit, offset in (("index", INDEX, 8), ("ut_id", UT, 10)):
        if name in fields:
            flags |= bit
            word = convert(frame, fields[name], t.U16, at)
            _store(frame, slot, offset, "i16", frame.operand(word, t.U16, at), at)
    for name, bit in (("async", ASYNC), ("save_address", SAVE)):
        if name in fields and _is_true(fields[name]):
            flags |= bit
    if "on_control" in fields:
        flags |= _on_control(frame, slot, fields["on_control"], at)
    if flags & (ACTIVATE | UNBLOCK | sum(_ON_CONTROL.values())) and not flags & ASYNC:
        raise CslError("only an asynchronous operation can activate or unblock", where=at,
                       hints=[".async = true"])  # fmt: skip
    _store(frame, slot, 0, "i32", str(flags), at)
    return slot


def _on_control(frame: Frame, slot: str, given: Value, at: Position) -> int:
    """The effect of a control wavelet in the data: it ends the operation and may start a task."""
    actions = fields_of(given, "'on_control'", at)
    for name in actions:
        if name not in _ON_CONTROL:
            raise CslError(
                f"'on_control' has no '{name}'", where=at, hints=did_you_mean(name, _ON_CONTROL)
            )
    if len(actions) > 1:
        raise CslError("'on_control' allows one action", where=at, notes=[", ".join(_ON_CONTROL)])
    for name, action in actions.items():
        if name != "terminate":
            _store(frame, slot, 12, "i16", task_operand(frame, action, at), at)
        elif not _is_true(action):
            return 0
        return _ON_CONTROL[name]
    return 0


def _store(frame: Frame, slot: str, offset: int, kind: str, text: str, at: Position) -> None:
    code = frame.running(at)
    pointer = code.value(f"getelementptr i8, ptr {slot}, i64 {offset}")
    code.line(f"store {kind} {text}, ptr {pointer}, align 2")


def _is_true(value: Value) -> bool:
    return isinstance(value, Const) and bool(value.value)


def operands_of(frame: Frame, values: list[Value], kinds: list[t.Type], at: Position) -> str:
    """An array of `wse_operand`, as a pointer."""
    code = frame.running(at)
    array = code.slot(f"[{OPERAND_BYTES * len(values)} x i8]")
    for number, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        what, scalar, pointer = _operand(frame, value, kind, at)
        start = OPERAND_BYTES * number
        _store(frame, array, start, "i32", str(what), at)
        _store(frame, array, start + 4, "i32", scalar, at)
        _store(frame, array, start + 8, "ptr", pointer, at)
    return array


def _operand(frame: Frame, value: Value, kind: t.Type, at: Position) -> tuple[int, str, str]:
    code = frame.running(at)
    if isinstance(value.type, t.Dsd):
        return 0, "0", frame.operand(value, value.type, at)
    if isinstance(value.type, t.Pointer):
        text = frame.operand(value, value.type, at)
        if isinstance(kind, t.Pointer):  # the function of @map receives the pointer itself
            return 1, code.value(f"zext i16 {text} to i32"), "null"
        return 2, code.value(f"zext i16 {text} to i32"), "null"
    if value.type in t.DSRS:
        bank = t.DSRS.index(value.type)
        wide = code.value(f"zext i16 {frame.operand(value, value.type, at)} to i32")
        return 3, code.value(f"add i32 {wide}, {16 * bank}"), "null"
    return 1, _scalar_bits(frame, value, kind, at), "null"


def _scalar_bits(frame: Frame, value: Value, kind: t.Type, at: Position) -> str:
    if (isinstance(kind, t.Int) and isinstance(value.type, t.Int | t.Handle | t.Enum)) or (
        isinstance(value, Const) and t.is_integer(value.type) and isinstance(kind, t.Int)
    ):
        value = convert(frame, value, kind, at)
    elif isinstance(kind, t.Int) and isinstance(value.type, t.Float):
        from xtc_targets.wse.sema.convert import bitcast

        value = bitcast(frame, value, t.Int(value.type.bits, False), at)
    else:
        value = coerce(frame, value, kind, at)
    code, kind = frame.running(at), value.type
    text = frame.operand(value, kind, at)
    bits = 8 * kind.size
    if isinstance(kind, t.Float):
        text = code.value(f"bitcast {llvm_type(kind)} {text} to i{bits}")
    return text if bits == 32 else code.value(f"zext i{bits} {text} to i32")


def _settings(values: list[Value]) -> Value | None:
    """Remove and return the struct of settings at the end of the operands."""
    if values and values[-1].type == t.ANONYMOUS:
        return values.pop()
    return None


def _accumulate(call: tree.Builtin, values: list[Value]) -> None:
    """In `@fadds(&sum, sum, dsd)`, make the source the current value of the destination."""
    target = call.args[0]
    if not isinstance(target, tree.Unary) or target.op != "&":
        return
    for number in range(1, len(values)):
        if call.args[number] == target.operand:
            values[number] = values[0]


def _operation(number: int, name: str) -> None:
    sources = _SOURCES.get(name, 1 if name in _ONE_SOURCE else 2)

    @builtin(name, 1 + sources, 2 + sources)
    def operate(frame: Frame, call: tree.Builtin) -> Value:
        values = [evaluate(frame, each) for each in call.args]
        given = _settings(values)
        if len(values) != 1 + sources:
            raise CslError(
                f"@{name} takes {1 + sources} operands, not {len(values)}", where=call.at
            )
        _accumulate(call, values)
        kinds = [element_of(name, False), *[element_of(name, True)] * sources]
        if not isinstance(values[0].type, t.Dsd | t.Pointer) and values[0].type not in t.DSRS:
            raise CslError(f"@{name} cannot write to a {values[0].type}", where=call.at)
        if name == "fmachs":
            kinds = [t.F32, t.F32, t.F16, t.F16]
        if name == "faddhs":
            kinds = [t.F32, t.F32, t.F16]
        if name in ("fscaleh", "fscales"):
            kinds[2] = t.I16
        array = operands_of(frame, values, kinds, call.at)
        options = options_of(frame, given, call.at)
        return _operate(frame, number, array, len(values), options, call.at)


def _operate(
    frame: Frame, number: int, array: str, count: int, options: str, at: Position
) -> Value:
    """Emit the operation; return, as a bool, whether it completed: a FIFO may end it early."""
    text = frame.running(at).call(
        "i1", "wse_operate", f"i32 {number}", f"ptr {array}", f"i32 {count}", f"ptr {options}",
        f"i32 {at.line}",
    )  # fmt: skip
    return Run(t.BOOL, text)


for _number, _name in enumerate(_OPERATIONS):
    if _name not in _COUNTS:
        _operation(_number, _name)


def count_bits(frame: Frame, call: tree.Builtin) -> Value:
    """Apply `@popcnt`, `@clz` or `@ctz` to a descriptor or a number, into the first operand."""
    values = [evaluate(frame, each) for each in call.args]
    given = _settings(values)
    array = operands_of(frame, values, [t.U16, t.U16], call.at)
    number = _OPERATIONS.index(call.name)
    return _operate(frame, number, array, 2, options_of(frame, given, call.at), call.at)


@builtin("dfilt", 2)
def _dfilt(frame: Frame, call: tree.Builtin) -> Value:
    """Drop input data until the number of control wavelets equals the descriptor's length."""
    values = [evaluate(frame, each) for each in call.args]
    given = _settings(values)
    source = values[0]
    if source.type not in (t.FABIN, t.DSR_SRC1):
        raise CslError(f"@dfilt takes a fabin_dsd, not a {source.type}", where=call.at)
    array = operands_of(frame, [Const(t.U32, 0), source], [t.U32, t.U32], call.at)
    return _operate(frame, _DFILT, array, 2, options_of(frame, given, call.at), call.at)


@builtin("map", 2, 9)
def _map(frame: Frame, call: tree.Builtin) -> Value:
    """Call a function for each element of the inputs, storing results in the output, if any."""
    at = call.at
    values = [evaluate(frame, each) for each in call.args]
    if _settings(values) is not None:
        raise CslError("@map takes no settings", where=at)
    function = values[0]
    if not isinstance(function, Const) or not isinstance(function.value, FunctionValue):
        raise CslError("@map needs a function", where=at)
    params, result = frame.program.signature(function.value)
    operands = values[1:]
    if len(operands) != len(params) + (result != t.VOID):
        raise CslError(
            f"@map of '{function.value.name}' takes {len(params)} inputs"
            + (" and an output" if result != t.VOID else ""),
            where=at,
        )
    kinds = [*params, result] if result != t.VOID else list(params)
    array = operands_of(frame, operands, kinds, at)
    sizes = sum(kind.size << (4 * number) for number, kind in enumerate(kinds))
    _map_loop(frame, function.value, array, kinds, (len(params), sizes), at)
    return VOID


def _map_loop(
    frame: Frame, function: FunctionValue, array: str, kinds: list[t.Type],
    shape: tuple[int, int], at: Position,
) -> None:  # fmt: skip
    inputs, sizes = shape
    code = frame.running(at)
    state, slot = code.slot("[1024 x i8]"), code.slot("[64 x i8]")
    code.call(
        "void", "wse_map_begin", f"ptr {state}", f"ptr {array}", f"i32 {inputs}",
        f"i32 {len(kinds)}", f"i64 {sizes}",
    )  # fmt: skip
    head, body, end = (code.new_block(hint) for hint in ("map", "body", "end"))
    code.jump(head)
    code.start(head)
    more = code.call("i1", "wse_map_next", f"ptr {state}", f"ptr {slot}")
    code.branch(more, body, end)
    code.start(body)
    arguments: list[Value] = []
    for number in range(inputs):
        pointer = code.value(f"getelementptr i8, ptr {slot}, i64 {8 * number}")
        arguments.append(Run(kinds[number], frame.loaded(pointer, kinds[number], at, False)))
    code.charge(MAPPED - CALL - RETURN - inputs)
    value = frame.program.call(frame, function, arguments, at)
    if len(kinds) > inputs:
        frame.store_at(slot, coerce(frame, value, kinds[-1], at), kinds[-1], at)
        code.call("void", "wse_map_store", f"ptr {state}", f"ptr {slot}")
    code.check_limit()
    code.jump(head)
    code.start(end)


assert d.WORDS * 2 == t.DSD_BYTES  # noqa: S101  two files that must agree
