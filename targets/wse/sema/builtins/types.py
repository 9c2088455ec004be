# SPDX-License-Identifier: Apache-2.0
"""Built-in functions on types, structs, modules and the compilation."""

from __future__ import annotations

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.convert import coerce
from xtc_targets.wse.sema.evaluate import condition, evaluate, known, type_of
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import VOID, Const, Items, Value, boolean, integer, type_value


@builtin("import_module", 1, 2)
def _import(frame: Frame, call: tree.Builtin) -> Value:
    name = known(frame, call.args[0], "a module's name")
    if name.type != t.STRING:
        raise CslError("a module's name must be a string", where=call.at)
    given = {}
    if len(call.args) == 2:
        given = fields_of(evaluate(frame, call.args[1]), "a module's parameters", call.at)
    module = frame.program.imported(frame, name.value, given, call.at)
    return Const(t.MODULE, module)


def fields_of(value: Value, what: str, at: tree.Position) -> dict[str, Value]:
    """The fields of an anonymous struct. Raises CslError for any other value."""
    if not isinstance(value, Const) or not isinstance(value.value, dict):
        raise CslError(f"{what} must be a struct, not a {value.type}", where=at)
    return value.value


@builtin("is_arch", 1)
def _is_arch(frame: Frame, call: tree.Builtin) -> Value:
    return boolean(known(frame, call.args[0], "an architecture").value == frame.program.arch.name)


@builtin("comptime_assert", 1, 2)
def _comptime_assert(frame: Frame, call: tree.Builtin) -> Value:
    with frame.comptime():
        test = condition(frame, call.args[0])
        if isinstance(test, Const) and not test.value:
            said = known(frame, call.args[1], "a message").value if len(call.args) > 1 else ""
            raise CslError("@comptime_assert fails" + (f": {said}" if said else ""), where=call.at)
    return VOID


@builtin("assert", 1, 2)
def _assert(frame: Frame, call: tree.Builtin) -> Value:
    test = condition(frame, call.args[0])
    if isinstance(test, Const):
        if not test.value and frame.code is None:
            raise CslError("@assert fails", where=call.at)
        if test.value:
            return VOID
    code = frame.running(call.at)
    text = frame.operand(test, t.BOOL, call.at)
    failed, passed = code.new_block("failed"), code.new_block("passed")
    code.charge(2)
    code.branch(text, passed, failed)
    code.start(failed)
    code.call("void", "wse_assertion", f"i32 {call.at.line}")
    code.jump(passed)
    code.start(passed)
    return VOID


@builtin("comptime_print", 1, 64)
def _comptime_print(frame: Frame, call: tree.Builtin) -> Value:
    texts = [str(known(frame, each, "a printed value").value) for each in call.args]
    frame.program.say(f"{call.at}: {' '.join(texts)}")
    return VOID


@builtin("type_of", 1)
def _type_of(frame: Frame, call: tree.Builtin) -> Value:
    return type_value(evaluate(frame, call.args[0]).type)


@builtin("is_same_type", 2)
def _is_same_type(frame: Frame, call: tree.Builtin) -> Value:
    return boolean(type_of(frame, call.args[0]) == type_of(frame, call.args[1]))


@builtin("is_comptime", 0, 1)
def _is_comptime(frame: Frame, call: tree.Builtin) -> Value:
    """Whether evaluation is at compile time, or whether a value is known at compile time."""
    if not call.args:
        return boolean(frame.code is None)
    return boolean(isinstance(evaluate(frame, call.args[0]), Const))


@builtin("element_type", 1)
def _element_type(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    if not isinstance(kind, t.Array | t.Pointer):
        raise CslError(f"{kind} has no elements", where=call.at)
    return type_value(kind.element)


@builtin("element_count", 1)
def _element_count(frame: Frame, call: tree.Builtin) -> Value:
    return integer(_array(frame, call).count)


@builtin("rank", 1)
def _rank(frame: Frame, call: tree.Builtin) -> Value:
    return integer(len(_array(frame, call).shape))


def _array(frame: Frame, call: tree.Builtin) -> t.Array:
    kind = type_of(frame, call.args[0])
    if not isinstance(kind, t.Array):
        raise CslError(f"{kind} is not an array", where=call.at)
    return kind


@builtin("has_field", 2)
def _has_field(frame: Frame, call: tree.Builtin) -> Value:
    value = evaluate(frame, call.args[0])
    name = known(frame, call.args[1], "a field's name").value
    if isinstance(value.type, t.Struct):
        return boolean(value.type.field_type(name) is not None)
    return boolean(name in fields_of(value, "the first argument", call.at))


@builtin("field", 2)
def _field(frame: Frame, call: tree.Builtin) -> Value:
    name = known(frame, call.args[1], "a field's name").value
    return evaluate(frame, tree.Member(call.args[0], str(name), at=call.at))


@builtin("concat_structs", 2)
def _concat_structs(frame: Frame, call: tree.Builtin) -> Value:
    first, second = (fields_of(evaluate(frame, each), "structs", call.at) for each in call.args)
    if twice := set(first) & set(second):
        raise CslError(f"both structs have the field '{min(twice)}'", where=call.at)
    return Const(t.ANONYMOUS, {**first, **second})


@builtin("unreachable", 0)
def _unreachable(frame: Frame, call: tree.Builtin) -> Value:
    frame.running(call.at).call("void", "wse_assertion", f"i32 {call.at.line}")
    return VOID


@builtin("dimensions", 1)
def _dimensions(frame: Frame, call: tree.Builtin) -> Value:
    shape = _array(frame, call).shape
    return Const(t.Array((len(shape),), t.U32), Items(list(shape)))


@builtin("fp16", 0)
def _fp16(frame: Frame, call: tree.Builtin) -> Value:
    """The format of 16-bit floats: IEEE 754."""
    return type_value(t.F16)


@builtin("strcat", 0, 64)
def _strcat(frame: Frame, call: tree.Builtin) -> Value:
    texts = [str(known(frame, each, "a string").value) for each in call.args]
    return Const(t.STRING, "".join(texts))


@builtin("get_string_from_byte", 1)
def _get_string_from_byte(frame: Frame, call: tree.Builtin) -> Value:
    byte = known(frame, call.args[0], "a byte").value
    if not isinstance(byte, int) or not 0 <= byte < 256:
        raise CslError(f"{byte} is not a byte", where=call.at)
    return Const(t.STRING, chr(byte))


@builtin("strlen", 1)
def _strlen(frame: Frame, call: tree.Builtin) -> Value:
    return integer(len(known(frame, call.args[0], "a string").value))


@builtin("get_array", 1)
def _get_array(frame: Frame, call: tree.Builtin) -> Value:
    """The characters of a string."""
    text = known(frame, call.args[0], "a string").value.encode()
    return Const(t.Array((len(text),), t.Int(8, False)), Items(list(text)))


@builtin("fmod", 2)
def _fmod(frame: Frame, call: tree.Builtin) -> Value:
    from xtc_targets.wse.sema.arithmetic import binary

    left, right = (evaluate(frame, each) for each in call.args)
    return binary(frame, "%", left, coerce(frame, right, left.type, call.at), call.at)


def as_operand(frame: Frame, value: Value, kind: t.Type, at: tree.Position) -> str:
    """A value, converted, as an operand of a call."""
    from xtc_targets.wse.sema.code import llvm_type

    return f"{llvm_type(kind)} {frame.operand(coerce(frame, value, kind, at), kind, at)}"
