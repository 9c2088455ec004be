# SPDX-License-Identifier: Apache-2.0
"""Built-in functions on numbers, arrays and ranges."""

from __future__ import annotations

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import convert
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.evaluate import evaluate, known, type_of, zeros
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import VOID, Address, Const, Items, RangeValue, Run, Value, integer


@builtin("as", 2)
def _as(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    return convert.convert(frame, evaluate(frame, call.args[1]), kind, call.at)


@builtin("bitcast", 2)
def _bitcast(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    return convert.bitcast(frame, evaluate(frame, call.args[1]), kind, call.at)


@builtin("ptrcast", 2)
def _ptrcast(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    value = evaluate(frame, call.args[1])
    pointers = isinstance(kind, t.Pointer) + isinstance(value.type, t.Pointer)
    if not pointers or not all(isinstance(each, t.Pointer | t.Int) for each in (kind, value.type)):
        raise CslError(f"@ptrcast from {value.type} to {kind}", where=call.at)
    if isinstance(value, Const) and (
        isinstance(value.value, Address) or isinstance(kind, t.Pointer)
    ):
        return Const(kind, value.value)
    return Run(kind, frame.operand(value, value.type, call.at))


@builtin("zeros", 1)
def _zeros(frame: Frame, call: tree.Builtin) -> Value:
    return zeros(type_of(frame, call.args[0]), call.at)


@builtin("constants", 2)
def _constants(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    if not isinstance(kind, t.Array):
        raise CslError(f"@constants makes arrays, and {kind} is not an array", where=call.at)
    value = convert.coerce(
        frame, known(frame, call.args[1], "the elements' value"), kind.element, call.at
    )
    assert isinstance(value, Const)  # noqa: S101  known above
    return Const(kind, Items([value.value] * kind.count))


@builtin("range", 2, 4)
def _range(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    if not t.is_integer(kind):
        raise CslError(f"a range of {kind}", where=call.at, notes=["a range has integer bounds"])
    bounds = [convert.coerce(frame, evaluate(frame, each), kind, each.at) for each in call.args[1:]]
    start: Value = Const(kind, 0)
    step: Value = Const(kind, 1)
    if len(bounds) == 1:
        (stop,) = bounds
    else:
        start, stop = bounds[:2]
        step = bounds[2] if len(bounds) == 3 else step
    if not isinstance(step, Const) or step.value == 0:
        raise CslError("a range's step must be known at compile time, and not 0", where=call.at)
    return Const(t.RANGE, RangeValue(kind, start, stop, step))


def _part_of_range(name: str, part: str) -> None:
    @builtin(name, 1)
    def get(frame: Frame, call: tree.Builtin) -> Value:
        value = evaluate(frame, call.args[0])
        if not isinstance(value, Const) or not isinstance(value.value, RangeValue):
            raise CslError(f"@{name} takes a range, not a {value.type}", where=call.at)
        found: Value = getattr(value.value, part)
        return found


for _part in ("start", "stop", "step"):
    _part_of_range(f"range_{_part}", _part)


@builtin("random16", 0)
def _random16(frame: Frame, call: tree.Builtin) -> Value:
    return Run(t.U16, frame.running(call.at).call("i16", "wse_random16"))


@builtin("set_active_prng", 1)
def _set_active_prng(frame: Frame, call: tree.Builtin) -> Value:
    number = convert.convert(frame, evaluate(frame, call.args[0]), t.U16, call.at)
    text = frame.operand(number, t.U16, call.at)
    frame.running(call.at).call("void", "wse_set_active_prng", f"i16 {text}")
    return VOID


@builtin("min", 2)
def _min(frame: Frame, call: tree.Builtin) -> Value:
    return _chosen(frame, call, "<")


@builtin("max", 2)
def _max(frame: Frame, call: tree.Builtin) -> Value:
    return _chosen(frame, call, ">")


def _chosen(frame: Frame, call: tree.Builtin, op: str) -> Value:
    from xtc_targets.wse.sema.arithmetic import binary
    from xtc_targets.wse.sema.code import llvm_type

    left, right = (evaluate(frame, each) for each in call.args)
    kind = convert.peer(left.type, right.type, call.at)
    left, right = (convert.coerce(frame, each, kind, call.at) for each in (left, right))
    test = binary(frame, op, left, right, call.at)
    if isinstance(test, Const):
        return left if test.value else right
    first, second = (frame.operand(each, kind, call.at) for each in (left, right))
    used = llvm_type(kind)
    text = f"select i1 {test.text}, {used} {first}, {used} {second}"
    return Run(kind, frame.running(call.at).value(text, 2))


@builtin("get_int", 1)
def _get_int(frame: Frame, call: tree.Builtin) -> Value:
    value = evaluate(frame, call.args[0])
    if isinstance(value, Const) and isinstance(value.value, int):
        return integer(value.value)
    if isinstance(value, Run):
        return convert.convert(frame, value, t.U16, call.at)
    raise CslError(f"a {value.type} has no number", where=call.at)


builtin("get_color_id", 1)(_get_int)  # its name until SDK 1.2


def _bits(name: str, intrinsic: str) -> None:
    """A function that counts bits."""

    @builtin(name, 1, 3)
    def count(frame: Frame, call: tree.Builtin) -> Value:
        if len(call.args) > 1:
            from xtc_targets.wse.sema.builtins.operations import count_bits

            return count_bits(frame, call)
        value = evaluate(frame, call.args[0])
        kind = value.type
        if not isinstance(kind, t.Int):
            raise CslError(f"@{name} counts bits of integers, not of {kind}", where=call.at)
        code = frame.running(call.at)
        extra = "" if intrinsic == "ctpop" else ", i1 false"
        operand = frame.operand(value, kind, call.at)
        frame.program.declared.add(f"declare i{kind.bits} @llvm.{intrinsic}.i{kind.bits}"
                                   f"(i{kind.bits}{', i1' if extra else ''})")  # fmt: skip
        text = f"call i{kind.bits} @llvm.{intrinsic}.i{kind.bits}(i{kind.bits} {operand}{extra})"
        return Run(kind, code.value(text, 2))


_bits("popcnt", "ctpop")
_bits("clz", "ctlz")
_bits("ctz", "cttz")
