# SPDX-License-Identifier: Apache-2.0
"""Built-in functions of WSE-3 for tables of control tasks and for rotating tasks."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.builtins.tile import bind, tile_declarations
from xtc_targets.wse.sema.builtins.types import fields_of
from xtc_targets.wse.sema.declarations import TaskBinding, TileDeclarations
from xtc_targets.wse.sema.evaluate import evaluate, integer_of
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import VOID, Const, FunctionValue, Value

_PAIRS = 2
"""The most pairs of rotating tasks (language documentation)."""


@builtin("set_control_task_table", 0, 1)
def _set_control_task_table(frame: Frame, call: tree.Builtin) -> Value:
    declarations = _of_wse3(frame, call)
    if declarations.control_stride:
        raise CslError("@set_control_task_table is called twice", where=call.at)
    given = _fields(frame, call, 0, ("instructions", "stride")) if call.args else {}
    numbers = {name: integer_of(value, f"'{name}'", call.at) for name, value in given.items()}
    if numbers.get("instructions", 4) not in (2, 4, 8):
        raise CslError("a control task's entry has 2, 4 or 8 instructions", where=call.at)
    stride = numbers.get("stride", 1)
    if not 1 <= stride <= 7:
        raise CslError(f"control task tables have a stride of 1 to 7, not {stride}", where=call.at)
    declarations.control_stride = stride
    return VOID


@builtin("bind_rotating_tasks", 4)
def _bind_rotating_tasks(frame: Frame, call: tree.Builtin) -> Value:
    declarations = _of_wse3(frame, call)
    main, other = (_task(frame, call, number) for number in (0, 1))
    value = evaluate(frame, call.args[2])
    if value.type != t.DATA_TASK:
        raise CslError(f"rotation needs a data_task_id, not a {value.type}", where=call.at)
    queue = integer_of(value, "a task id", call.at)
    given = _fields(frame, call, 3, ("init", "limit"))
    if "limit" not in given:
        raise CslError("rotating tasks need a 'limit'", where=call.at)
    limit = integer_of(given["limit"], "'limit'", call.at)
    if not 0 <= limit < 1 << 16:
        raise CslError(f"'limit' must be 0 to 65535, not {limit}", where=call.at)
    if "init" in given and integer_of(given["init"], "'init'", call.at):
        raise CslError(
            "rotation must begin at 0",
            where=call.at,
            notes=["public sources disagree about other values of 'init'"],
        )
    if len(declarations.rotations) == _PAIRS:
        raise CslError("more than two pairs of rotating tasks", where=call.at)
    bind(frame, declarations, queue, TaskBinding("data_task_id", main, call.at))
    declarations.rotations[queue] = limit
    _bind_other(frame, declarations, TaskBinding("control_task_id", other, call.at), queue)
    return VOID


def _bind_other(
    frame: Frame, declarations: TileDeclarations, binding: TaskBinding, queue: int
) -> None:
    """Bind the other task to control task 0 of the queue's table, once the table is known."""

    def work() -> None:
        config = declarations.input_queues.get(queue)
        table = config.table if config else 0
        bind(frame, declarations, table * declarations.control_stride, binding)

    frame.program.after_comptime(work)


def _of_wse3(frame: Frame, call: tree.Builtin) -> TileDeclarations:
    declarations = tile_declarations(frame, call)
    if not frame.program.arch.data_tasks_by_queue:
        raise CslError(f"{frame.program.arch.name} has no @{call.name}", where=call.at)
    return declarations


def _task(frame: Frame, call: tree.Builtin, number: int) -> FunctionValue:
    value = evaluate(frame, call.args[number])
    function = value.value if isinstance(value, Const) else None
    if not isinstance(function, FunctionValue) or function.tree.kind != "task":
        raise CslError("only a task can be bound", where=call.at)
    return function


def _fields(
    frame: Frame, call: tree.Builtin, number: int, names: tuple[str, ...]
) -> Mapping[str, Value]:
    given = fields_of(evaluate(frame, call.args[number]), "the settings", call.at)
    for name in given:
        if name not in names:
            hints = did_you_mean(name, names)
            raise CslError(f"@{call.name} has no '{name}'", where=call.at, hints=hints)
    return given
