# SPDX-License-Identifier: Apache-2.0
"""Built-in functions that denote parts of the machine: colors, task ids, queues, registers."""

from __future__ import annotations

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.description import Architecture
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.convert import convert
from xtc_targets.wse.sema.evaluate import evaluate, type_of
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import VOID, Const, Run, Value


def handle(frame: Frame, value: Value, kind: t.Handle, what: str, at: tree.Position) -> Value:
    """A number or another handle as a handle; known numbers are checked."""
    if isinstance(value, Const):
        if not isinstance(value.value, int) or isinstance(value.value, bool):
            raise CslError(f"{what} needs a number, not a {value.type}", where=at)
        _check(frame.program.arch, kind, value.value, what, at)
        return Const(kind, value.value)
    return convert(frame, value, kind, at)


def _check(arch: Architecture, kind: t.Handle, number: int, what: str, at: tree.Position) -> None:
    ids = arch.ids(kind.name)
    if number not in ids:
        raise CslError(
            f"{arch.name} has no {what} {number}",
            where=at,
            notes=[f"there are {ids.start} to {ids.stop - 1}"],
        )


def _numbered(name: str, kind: t.Handle, what: str) -> None:
    @builtin(name, 1)
    def get(frame: Frame, call: tree.Builtin) -> Value:
        return handle(frame, evaluate(frame, call.args[0]), kind, what, call.at)


_numbered("get_color", t.COLOR, "color")
_numbered("get_local_task_id", t.LOCAL_TASK, "local task id")
_numbered("get_control_task_id", t.CONTROL_TASK, "control task id")
_numbered("get_input_queue", t.INPUT_QUEUE, "input queue")
_numbered("get_output_queue", t.OUTPUT_QUEUE, "output queue")
_numbered("get_ut_id", t.UT, "microthread")
_numbered("get_xdsr", t.XDSR, "extended descriptor register")


@builtin("get_data_task_id", 1)
def _get_data_task_id(frame: Frame, call: tree.Builtin) -> Value:
    value, arch = evaluate(frame, call.args[0]), frame.program.arch
    wanted = t.INPUT_QUEUE if arch.data_tasks_by_queue else t.COLOR
    if isinstance(value.type, t.Handle) and value.type != wanted:
        raise CslError(
            f"the id of a data task is that of a {wanted} on {arch.name}, not of a {value.type}",
            where=call.at,
        )
    return handle(frame, value, t.DATA_TASK, "data task id", call.at)


@builtin("get_dsr", 2)
def _get_dsr(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    if kind not in t.DSRS or not isinstance(kind, t.Handle):
        raise CslError(f"{kind} is not a kind of descriptor register", where=call.at)
    return handle(frame, evaluate(frame, call.args[1]), kind, "descriptor register", call.at)


def _config(name: str) -> None:
    """Built-in functions that access registers of the machine by word address."""
    writes = name.startswith("set")

    @builtin(name, 1 + writes, 2 + writes)
    def access(frame: Frame, call: tree.Builtin) -> Value:
        at, code = call.at, frame.running(call.at)
        given = [evaluate(frame, each) for each in call.args[: 1 + writes]]
        words = [frame.operand(convert(frame, each, t.U16, at), t.U16, at) for each in given]
        words[0] = code.value(f"shl i16 {words[0]}, 1")
        operands = [f"i16 {word}" for word in words]
        if writes:
            code.call("void", "wse_register_write", *operands)
            return VOID
        return Run(t.U16, code.call("i16", "wse_register_read", *operands))


for _name in ("get_config", "get_config_unchecked", "set_config", "set_config_unchecked"):
    _config(_name)
