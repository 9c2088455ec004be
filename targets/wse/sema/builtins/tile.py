# SPDX-License-Identifier: Apache-2.0
"""Built-in functions that declare a tile's tasks, queues and symbols."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, FormerProgramError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.arithmetic import binary
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.builtins.types import fields_of
from xtc_targets.wse.sema.convert import convert
from xtc_targets.wse.sema.declarations import (
    CONTROL_TASKS,
    Export,
    Fifo,
    QueueConfig,
    TaskBinding,
    TileDeclarations,
)
from xtc_targets.wse.sema.evaluate import evaluate, integer_of, known
from xtc_targets.wse.sema.frame import Frame, Memory
from xtc_targets.wse.sema.lvalues import location_of
from xtc_targets.wse.sema.routes import color_config
from xtc_targets.wse.sema.values import (
    VOID,
    Address,
    Const,
    FunctionValue,
    Run,
    Value,
    integer,
    struct_value,
)


def tile_declarations(
    frame: Frame, call: tree.Builtin, *, comptime: bool = True
) -> TileDeclarations:
    """The declarations of the tile so far. Raises CslError if the built-in is not allowed here."""
    declarations = frame.program.tile
    if declarations is None or (comptime and frame.code is not None):
        raise CslError(f"@{call.name} belongs in a comptime block of a tile's code", where=call.at)
    return declarations


def _bind(frame: Frame, call: tree.Builtin, kind: str) -> Value:
    declarations = tile_declarations(frame, call)
    task = _task(frame, call)
    value = evaluate(frame, call.args[1])
    if str(value.type) != kind:
        raise CslError(f"this task is bound to a {kind}, not to a {value.type}", where=call.at)
    number = integer_of(value, "a task id", call.at)
    bind(frame, declarations, number, TaskBinding(kind, task, call.at))
    return VOID


def _task(frame: Frame, call: tree.Builtin) -> FunctionValue:
    function = evaluate(frame, call.args[0])
    if not isinstance(function, Const) or not isinstance(function.value, FunctionValue):
        raise CslError("only a task can be bound", where=call.at)
    if function.value.tree.kind != "task":
        raise CslError(
            f"'{function.value.name}' is a function, and only a task can be bound", where=call.at
        )
    return function.value


@builtin("bind_task", 2)
def _bind_task(frame: Frame, call: tree.Builtin) -> Value:
    """Until SDK 0.9 a color named any task: a data task if it has parameters, else a local one.

    Only WSE-2 has tasks by color.
    """
    declarations, task = tile_declarations(frame, call), _task(frame, call)
    value = evaluate(frame, call.args[1])
    if frame.program.arch.data_tasks_by_queue:
        raise FormerProgramError(
            f"{frame.program.arch.name} has no tasks by color",
            where=call.at,
            hints=["@bind_data_task, @bind_local_task or @bind_control_task", "--arch=wse2"],
        )
    kind = str(value.type)
    if value.type == t.COLOR:
        kind = "data_task_id" if task.tree.params else "local_task_id"
    elif kind not in ("data_task_id", "local_task_id", "control_task_id"):
        raise CslError(f"a task is bound to a color, not to a {value.type}", where=call.at)
    number = integer_of(value, "a task id", call.at)
    bind(frame, declarations, number, TaskBinding(kind, task, call.at))
    return VOID


def bind(frame: Frame, declarations: TileDeclarations, number: int, binding: TaskBinding) -> None:
    """Bind a task to an id. Raises CslError on a conflict, now or after comptime blocks."""
    key = number + CONTROL_TASKS * (binding.kind == "control_task_id")
    _check_free(declarations, number, key, binding)
    declarations.tasks[key] = binding

    def check() -> None:
        if not declarations.control_stride:
            _check_free(declarations, number, number, binding)

    if key != number:
        frame.program.after_comptime(check)


def _check_free(
    declarations: TileDeclarations, number: int, key: int, binding: TaskBinding
) -> None:
    if key in declarations.tasks:
        first = declarations.tasks[key]
        raise CslError(
            f"task id {number} is bound twice, to '{first.function.name}' and to "
            f"'{binding.function.name}'",
            where=binding.at,
            notes=[f"first at {first.at}"],
        )


@builtin("bind_local_task", 2)
def _bind_local_task(frame: Frame, call: tree.Builtin) -> Value:
    return _bind(frame, call, "local_task_id")


@builtin("bind_data_task", 2)
def _bind_data_task(frame: Frame, call: tree.Builtin) -> Value:
    return _bind(frame, call, "data_task_id")


@builtin("bind_control_task", 2)
def _bind_control_task(frame: Frame, call: tree.Builtin) -> Value:
    return _bind(frame, call, "control_task_id")


@builtin("set_local_color_config", 2)
def _set_local_color_config(frame: Frame, call: tree.Builtin) -> Value:
    declarations = tile_declarations(frame, call)
    color = integer_of(evaluate(frame, call.args[0]), "a color", call.at)
    if color in declarations.colors:
        raise CslError(
            f"color {color} is configured twice",
            where=call.at,
            notes=[f"first at {declarations.colors[color][1]}"],
        )
    declarations.colors[color] = (color_config(evaluate(frame, call.args[1]), call.at), call.at)
    return VOID


@builtin("initialize_queue", 1, 2)
def _initialize_queue(frame: Frame, call: tree.Builtin) -> Value:
    declarations = tile_declarations(frame, call)
    value = evaluate(frame, call.args[0])
    queues = {t.INPUT_QUEUE: declarations.input_queues, t.OUTPUT_QUEUE: declarations.output_queues}
    if value.type not in queues:
        raise CslError(f"a {value.type} is not a queue", where=call.at)
    assert isinstance(value.type, t.Handle)  # noqa: S101  the two are
    number, found = integer_of(value, "a queue", call.at), queues[value.type]
    given = {}
    if len(call.args) == 2:
        settings = evaluate(frame, call.args[1])
        if settings.type == t.COLOR:  # until SDK 0.8 a queue's color was given alone
            settings = struct_value(color=settings)
        given = fields_of(settings, "a queue's settings", call.at)
    for name in given:
        if name not in _QUEUE:
            hints = did_you_mean(name, _QUEUE)
            raise CslError(f"a queue has no '{name}'", where=call.at, hints=hints)
    table = _control_table(frame, declarations, given, call.at)
    color = integer_of(given["color"], "a color", call.at) if "color" in given else -1
    for other, config in queues[t.INPUT_QUEUE].items():
        if value.type == t.INPUT_QUEUE and color >= 0 and config.color == color:
            raise CslError(
                f"color {color} is bound to two input queues, {other} and {number}",
                where=call.at,
                notes=[f"first at {config.at}"],
            )
    if number in found:
        raise CslError(
            f"{value.type} {number} is initialized twice",
            where=call.at,
            notes=[f"first at {found[number].at}"],
        )
    if frame.program.arch.data_tasks_by_queue and color < 0:
        raise CslError(
            f"{value.type} {number} has no color",
            where=call.at,
            hints=["@initialize_queue(queue, .{ .color = c })"],
        )
    found[number] = QueueConfig(color, 0, call.at, table)
    return VOID


def _control_table(
    frame: Frame, declarations: TileDeclarations, given: Mapping[str, Value], at: tree.Position
) -> int:
    if "ctrl_table_id" not in given:
        return 0
    table = integer_of(given["ctrl_table_id"], "a table", at)
    if not 0 <= table < _TABLES:
        raise CslError(f"a control task table is 0 to {_TABLES - 1}, not {table}", where=at)

    def check() -> None:
        if not declarations.control_stride:
            raise CslError(
                "all control tasks are in one table",
                where=at,
                hints=["@set_control_task_table() creates separate tables"],
            )

    if table:
        frame.program.after_comptime(check)
    return table


@builtin("export_symbol", 1, 2)
def _export_symbol(frame: Frame, call: tree.Builtin) -> Value:
    declarations = tile_declarations(frame, call)
    found = location_of(frame, call.args[0])
    function = found.value if isinstance(found, Const) else None
    if len(call.args) == 2:
        name = str(known(frame, call.args[1], "a symbol's name").value)
    elif isinstance(call.args[0], tree.Name | tree.Member):
        name = call.args[0].name
    else:
        raise CslError("@export_symbol needs a name for this", where=call.at)
    if name in declarations.exports:
        raise CslError(f"the symbol '{name}' is exported twice", where=call.at)
    if isinstance(function, FunctionValue):
        declarations.exports[name] = Export(function, None, None, t.Fn((), t.VOID), call.at)
        return VOID
    declarations.exports[name] = _data_export(found, call.at)
    return VOID


def _data_export(found: object, at: tree.Position) -> Export:
    if isinstance(found, Memory) and isinstance(found.address, Address):
        where = (found.address.base, found.address.offset)
        if isinstance(found.type, t.Pointer):
            return Export(None, None, where, found.type, at)
        return Export(None, where, None, t.Pointer(found.type), at)
    if isinstance(found, Const) and isinstance(found.value, Address):
        where = (found.value.base, found.value.offset)
        return Export(None, where, None, found.type, at, known=True)
    raise CslError("only a function, a variable or a pointer to one can be exported", where=at)


_TABLES = 8
"""The same number as of input queues."""
_QUEUE = ("color", "priority", "ctrl_table_id")
_FIFO = ("activate_push", "activate_pop", "priority", "dest", "src", "xdsr")
_THREADS = 64
"""The first number of microthreads, after those of tasks."""


def task_number(frame: Frame, value: Value, at: tree.Position) -> Value:
    """The id that a task id, a task, a color, a queue or a microthread denotes."""
    declarations, arch = frame.program.tile, frame.program.arch
    if isinstance(value, Const) and isinstance(value.value, FunctionValue):
        for number, binding in declarations.tasks.items() if declarations else ():
            if binding.function == value.value and number < CONTROL_TASKS:
                return Const(t.U16, number)
        return Const(t.U16, _Later(frame, value.value, at))
    if value.type == t.COLOR and arch.data_tasks_by_queue:
        raise CslError(f"on {arch.name} a queue is blocked, not a color", where=at)
    if value.type == t.INPUT_QUEUE and not arch.data_tasks_by_queue:
        raise CslError(f"on {arch.name} a color is blocked, not a queue", where=at)
    if not isinstance(value.type, t.Handle):
        raise CslError(f"a {value.type} is not a task", where=at)
    if value.type == t.CONTROL_TASK and declarations:
        _refuse_tables(frame, declarations, at)
    if value.type == t.UT:
        return binary(frame, "+", convert(frame, value, t.U16, at), integer(_THREADS), at)
    return convert(frame, value, t.U16, at)


def _refuse_tables(frame: Frame, declarations: TileDeclarations, at: tree.Position) -> None:
    """Raise CslError, now or after comptime blocks, if control tasks have separate tables."""

    def check() -> None:
        if declarations.control_stride:
            raise CslError("control tasks in separate tables are called by wavelets only", where=at)

    if frame.code is None:
        frame.program.after_comptime(check)
    else:
        check()


class _Later:
    """The id of a task that is not bound yet; known after all comptime blocks."""

    def __init__(self, frame: Frame, function: FunctionValue, at: tree.Position) -> None:
        self._frame, self._function, self._at = frame, function, at

    def __int__(self) -> int:
        return self._frame.program.task_id(self._function, self._at)

    def __index__(self) -> int:
        return int(self)

    def __str__(self) -> str:
        return str(int(self))


def task_operand(frame: Frame, value: Value, at: tree.Position) -> str:
    """The number of a task as an i16 operand."""
    return frame.operand(task_number(frame, value, at), t.U16, at)


def _register_setter(name: str, known_set: str) -> None:
    @builtin(name, 1)
    def steer(frame: Frame, call: tree.Builtin) -> Value:
        declarations = tile_declarations(frame, call, comptime=False)
        value = evaluate(frame, call.args[0])
        if frame.code is None:
            number = task_number(frame, value, call.at)
            if isinstance(number, Run):
                raise CslError("which task this is must be known", where=call.at)
            frame.program.after_comptime(
                lambda: getattr(declarations, known_set).add(int(number.value))
            )
            return VOID
        frame.code.charge(1)
        frame.code.call("void", f"wse_{name}", f"i16 {task_operand(frame, value, call.at)}")
        return VOID


_register_setter("activate", "activated")
_register_setter("block", "blocked")
_register_setter("unblock", "unblocked")


@builtin("allocate_fifo", 1, 2)
def _allocate_fifo(frame: Frame, call: tree.Builtin) -> Value:
    from xtc_targets.wse.sema.descriptor import fifo

    declarations = tile_declarations(frame, call)
    location = location_of(frame, call.args[0])
    if not isinstance(location, Memory) or not isinstance(location.type, t.Array):
        raise CslError("a FIFO needs an array", where=call.at)
    assert isinstance(location.address, Address)  # noqa: S101  comptime
    given = {}
    if len(call.args) == 2:
        given = fields_of(evaluate(frame, call.args[1]), "a FIFO's settings", call.at)
    numbers = {}
    for name, each in given.items():
        if name not in _FIFO:
            hints = did_you_mean(name, _FIFO)
            raise CslError(f"a FIFO has no '{name}'", where=call.at, hints=hints)
        if name in ("activate_push", "activate_pop"):
            numbers[name] = task_number(frame, each, call.at)
    registers = [name for name in ("dest", "src", "xdsr") if name in given]
    if len(registers) not in (0, 3):
        raise CslError("a FIFO has 'dest', 'src' and 'xdsr', or none of them", where=call.at,
                       notes=[f"it has {' and '.join(registers)}"])  # fmt: skip
    on = [numbers.get(name, Const(t.U16, -1)) for name in ("activate_push", "activate_pop")]
    ids = [each.value if isinstance(each, Const) else -1 for each in on]
    size = location.type.element.size
    declarations.fifos.append(Fifo(location.address.base, location.type.size, size, *ids))
    return fifo(len(declarations.fifos) - 1, location.type.element)


@builtin("get_filter_id", 1)
def _get_filter_id(frame: Frame, call: tree.Builtin) -> Value:
    """The handle of a color's filter; changing a filter that does not exist is a fault."""
    return Const(t.U16, integer_of(evaluate(frame, call.args[0]), "a color", call.at))


@builtin("rpc", 1)
def _rpc(frame: Frame, call: tree.Builtin) -> Value:
    """Serve launches of the host; memcpy with a launch color already serves them."""
    tile_declarations(frame, call)
    value = evaluate(frame, call.args[0])
    if value.type not in (t.DATA_TASK, t.COLOR):
        raise CslError(f"@rpc takes a data_task_id, not a {value.type}", where=call.at)
    number = integer_of(value, "a task id", call.at)
    frame.program.after_comptime(lambda: _is_launch(frame, number, call.at))
    return VOID


def _is_launch(frame: Frame, number: int, at: tree.Position) -> None:
    if frame.program.tile is None or frame.program.tile.launch != number:
        raise CslError(
            "@rpc serves launches by the host only",
            where=at,
            notes=["the encoding of calls in wavelets is not public"],
            hints=["@rpc(@get_data_task_id(sys_mod.LAUNCH))"],
        )


@builtin("set_teardown_handler", 2)
def _set_teardown_handler(frame: Frame, call: tree.Builtin) -> Value:
    declarations = tile_declarations(frame, call)
    function, color = (evaluate(frame, each) for each in call.args)
    declarations.teardown[integer_of(color, "a color", call.at)] = _function(function, call.at)
    return VOID


@builtin("set_empty_queue_handler", 2)
def _set_empty_queue_handler(frame: Frame, call: tree.Builtin) -> Value:
    declarations = tile_declarations(frame, call)
    function, queue = (evaluate(frame, each) for each in call.args)
    number = integer_of(queue, "a queue", call.at) + _behind_outputs(queue, call)
    if number in declarations.empty_queue:
        raise CslError(f"this {queue.type} has a handler already", where=call.at)
    declarations.empty_queue[number] = _function(function, call.at)
    return VOID


def _behind_outputs(queue: Value, call: tree.Builtin) -> int:
    """The offset of a queue's number: input queues are numbered after output queues."""
    if queue.type not in (t.INPUT_QUEUE, t.OUTPUT_QUEUE):
        raise CslError(f"@{call.name} takes a queue, not a {queue.type}", where=call.at)
    return _QUEUES if queue.type == t.INPUT_QUEUE else 0


_QUEUES = 8


def _function(value: Value, at: tree.Position) -> FunctionValue:
    if not isinstance(value, Const) or not isinstance(value.value, FunctionValue):
        raise CslError("a handler is a function", where=at)
    return value.value


@builtin("queue_flush", 1)
def _queue_flush(frame: Frame, call: tree.Builtin) -> Value:
    value = evaluate(frame, call.args[0])
    first = integer(_behind_outputs(value, call))
    number = binary(frame, "+", convert(frame, value, t.U16, call.at), first, call.at)
    text = frame.operand(number, t.U16, call.at)
    frame.running(call.at).call("void", "wse_queue_flush", f"i16 {text}")
    return VOID
