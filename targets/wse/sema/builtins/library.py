# SPDX-License-Identifier: Apache-2.0
"""Built-in functions for the CSL libraries only; they call functions of the simulator."""

from __future__ import annotations

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.builtins.types import fields_of
from xtc_targets.wse.sema.code import llvm_type
from xtc_targets.wse.sema.convert import bitcast, coerce, convert
from xtc_targets.wse.sema.evaluate import evaluate, known, type_of
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.module import LIBRARY
from xtc_targets.wse.sema.values import VOID, Const, Items, Run, Value, integer

_CALLS: dict[str, tuple[tuple[t.Type, ...], t.Type]] = {
    "unblock_cmd_stream": ((), t.VOID),
    "tsc_enable": ((t.BOOL,), t.VOID),
    "tsc_read": ((t.Int(16, False),), t.U16),
    "tsc_reset": ((), t.VOID),
    "x_coord": ((), t.U16),
    "y_coord": ((), t.U16),
    "print_text": ((t.U16, t.U16), t.VOID),
    "print_number": ((t.U32, t.U16), t.VOID),
    "trace_word": ((t.U16, t.U16), t.VOID),
    "queue_flush_exit": ((t.U16,), t.VOID),
    "teardown_exit": ((t.U16,), t.VOID),
    "teardown_state": ((), t.U32),
    "queue_state": ((t.U16,), t.U16),
    "set_switch": ((t.U16, t.U16), t.VOID),
    "switch_position": ((t.U16,), t.U16),
    "clear_switch": ((t.U16,), t.VOID),
    "set_route": ((t.U16, t.U16, t.U16), t.VOID),
    "set_switch_route": ((t.U16, t.U16, t.U16, t.U16), t.VOID),
    "set_switch_mode": ((t.U16, t.U16, t.U16, t.U16), t.VOID),
    "set_swap": ((t.U16,), t.VOID),
    "set_filter": ((t.U16, t.U16, t.U16), t.VOID),
    "set_random": ((t.U32,), t.VOID),
    "set_priority": ((t.U16, t.U16), t.VOID),
    "set_queue_color": ((t.U16, t.U16, t.U16), t.VOID),
}


def _internal(frame: Frame, call: tree.Builtin) -> None:
    if LIBRARY not in frame.module.path.parents:
        raise CslError(f"@{call.name} is not supported", where=call.at)


def _declare(name: str, params: tuple[t.Type, ...], result: t.Type) -> None:
    @builtin(f"__{name}", len(params))
    def call_simulator(frame: Frame, call: tree.Builtin) -> Value:
        _internal(frame, call)
        code = frame.running(call.at)
        operands = []
        for kind, each in zip(params, call.args, strict=True):
            value = coerce(frame, evaluate(frame, each), kind, each.at)
            operands.append(f"{llvm_type(kind)} {frame.operand(value, kind, each.at)}")
        text = code.call(llvm_type(result), f"wse_{name}", *operands)
        return VOID if result == t.VOID else Run(result, text)


for _name, (_params, _result) in _CALLS.items():
    _declare(_name, _params, _result)

SIGNATURES = [
    f"declare {llvm_type(result)} @wse_{name}({', '.join(['ptr', *map(llvm_type, params)])})"
    for name, (params, result) in _CALLS.items()
]


@builtin("__text", 1)
def _text(frame: Frame, call: tree.Builtin) -> Value:
    """The index of a string in the program's table."""
    _internal(frame, call)
    return integer(frame.program.text_number(known(frame, call.args[0], "a string").value))


@builtin("__directions", 1)
def _directions(frame: Frame, call: tree.Builtin) -> Value:
    """One or more directions as bits."""
    _internal(frame, call)
    value = evaluate(frame, call.args[0])
    if isinstance(value, Const):
        found = value.value
        if isinstance(found, dict):
            numbers = [each.value for each in found.values()]
        else:
            numbers = list(found.flat) if isinstance(found, Items) else [found]
        return Const(t.U16, sum(1 << int(number) for number in set(numbers)))
    code = frame.running(call.at)
    number = frame.operand(value, t.DIRECTION, call.at)
    return Run(t.U16, code.value(f"shl i16 1, {number}"))


@builtin("__trace", 2)
def _trace(frame: Frame, call: tree.Builtin) -> Value:
    """A buffer of trace records, by key."""
    _internal(frame, call)
    declarations = frame.program.tile
    key, pointer = (known(frame, each, "a trace") for each in call.args)
    if declarations is not None and isinstance(pointer.type, t.Pointer):
        declarations.traces.append((str(key.value), pointer.value, pointer.type.element.size // 2))
    return VOID


@builtin("__launch", 1)
def _launch(frame: Frame, call: tree.Builtin) -> Value:
    """The color of the host's launches, if the layout set one."""
    _internal(frame, call)
    value = known(frame, call.args[0], "a color")
    if frame.program.tile is not None and value.type == t.COLOR:
        frame.program.tile.launch = int(value.value)
    return VOID


@builtin("__print_format", 2)
def _print_format(frame: Frame, call: tree.Builtin) -> Value:
    """Print text with `{d}`, `{X}`, `{b}` and `{f}` for numbers."""
    _internal(frame, call)
    text = known(frame, call.args[0], "a format").value
    values = list(fields_of(evaluate(frame, call.args[1]), "the printed values", call.at).values())
    code = frame.running(call.at)
    for piece, letter in formatted(text, len(values), call.at):
        if piece:
            number = frame.program.text_number(piece)
            code.call("void", "wse_print_text", f"i16 {number}", "i16 0")
        if letter:
            word, kind = _printed(frame, values.pop(0), letter, call.at)
            code.call("void", "wse_print_number", f"i32 {word}", f"i16 {kind}")
    return VOID


def formatted(text: str, count: int, at: tree.Position) -> list[tuple[str, str]]:
    """The pieces of a format, each with the letter of the number after it or "". Raises
    CslError.
    """
    found, rest = [], text.replace("{{", "\0")
    while (start := rest.find("{")) >= 0:
        letter = rest[start + 1 : start + 2]
        if rest[start + 2 : start + 3] != "}" or letter not in _PRINTED:
            raise CslError(f"a format has no '{rest[start : start + 3]}'", where=at,
                           notes=["use {d}, {X}, {b} or {f}; {{ is a brace"])  # fmt: skip
        found.append((rest[:start], letter))
        rest = rest[start + 3 :]
    if len(found) != count:
        raise CslError(f"a format of {len(found)} numbers has {count} arguments", where=at)
    return [(piece.replace("\0", "{"), letter) for piece, letter in [*found, (rest, "")]]


_PRINTED = {"d": (10, 10), "X": (264, 268), "b": (216, 232), "f": (32, 32)}
"""The kinds of `wse_print_number` for 16-bit and 32-bit numbers."""


def _printed(frame: Frame, value: Value, letter: str, at: tree.Position) -> tuple[str, int]:
    kind = value.type
    if letter == "f":
        if not t.is_float(kind):
            raise CslError(f"{{f}} prints a float, not a {kind}", where=at)
        bits = bitcast(frame, convert(frame, value, t.F32, at), t.U32, at)
        return frame.operand(bits, t.U32, at), _PRINTED[letter][1]
    if kind not in (t.U16, t.U32, t.COMPTIME_INT):
        raise CslError(f"{{{letter}}} prints a u16 or u32, not a {kind}", where=at)
    wide = kind == t.U32
    word = frame.operand(convert(frame, value, t.U32, at), t.U32, at)
    return word, _PRINTED[letter][wide]


@builtin("__math", 2)
def _math(frame: Frame, call: tree.Builtin) -> Value:
    """An LLVM intrinsic on floats."""
    _internal(frame, call)
    name, value = known(frame, call.args[0], "a name").value, evaluate(frame, call.args[1])
    kind = value.type
    if not isinstance(kind, t.Float):
        raise CslError(f"a {kind} has no {name}", where=call.at)
    used, code = llvm_type(kind), frame.running(call.at)
    short = {"half": "f16", "float": "f32", "bfloat": "bf16", "double": "f64"}[used]
    frame.program.declared.add(f"declare {used} @llvm.{name}.{short}({used})")
    operand = frame.operand(value, kind, call.at)
    return Run(kind, code.value(f"call {used} @llvm.{name}.{short}({used} {operand})", 20))


@builtin("__arch", 0)
def _arch(frame: Frame, call: tree.Builtin) -> Value:
    _internal(frame, call)
    return Const(t.COMPTIME_INT, frame.program.arch.number)


@builtin("__size_of", 1)
def _size_of(frame: Frame, call: tree.Builtin) -> Value:
    """The size of a type's values in bytes."""
    _internal(frame, call)
    return integer(type_of(frame, call.args[0]).size)
