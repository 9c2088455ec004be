# SPDX-License-Identifier: Apache-2.0
"""Partitions of a module: the code of the host and of each device.

The partition of a device is its functions, those with `xtc.device`, or the nested module that
contains them once the host no longer refers to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xtc.ir.attributes import DEVICE

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


@contextmanager
def partition_of(module: Operation, device: str | None) -> Iterator[Operation | None]:
    """The partition of `device`, or of the host if None, as a module for passes to run on.

    Yields None if the device has no code. Changes to a partition are written back at the end, also
    if a pass failed.
    """
    with (
        _host_partition(module)
        if device is None
        else _device_partition(module, device) as partition
    ):
        yield partition if device is None or top_level(partition) else None


def device_of(op: Operation) -> str | None:
    """The device of `op`, or None."""
    from xtc.ir.mlir import StringAttr

    return StringAttr(op.attributes[DEVICE]).value if DEVICE in op.attributes else None


def top_level(module: Operation) -> list[Operation]:
    """The operations of a module's body."""
    return [op.operation for op in module.regions[0].blocks[0].operations]


def device_module(module: Operation, device: str) -> Operation | None:
    """The nested module with the code of `device`, or None."""
    return next(
        (op for op in top_level(module) if op.name == "builtin.module" and device_of(op) == device),
        None,
    )


@contextmanager
def _device_partition(module: Operation, device: str) -> Iterator[Operation]:
    own = device_module(module, device)
    if own is not None:
        yield own
        return
    functions = [op for op in top_level(module) if device_of(op) == device]
    partition = _moved(functions, module)
    try:
        yield partition
    finally:
        _put_first(top_level(partition), module)


@contextmanager
def _host_partition(module: Operation) -> Iterator[Operation]:
    """The module itself, with device functions only declared."""
    away = [op for op in top_level(module) if device_of(op) is not None]
    declared = [_declaration(op, module) for op in away if op.name == "func.func"]
    holder = _moved(away, module)
    try:
        yield module
    finally:
        names = {name for name, _ in declared}
        for op in top_level(module):
            if op.name == "func.func" and symbol_of(op) in names:
                op.erase()
        _put_first(top_level(holder), module)


def _moved(operations: list[Operation], module: Operation) -> Operation:
    from xtc.ir.mlir import Location, Module

    with module.context, Location.unknown():
        holder = Module.create().operation
    body = holder.regions[0].blocks[0]
    for op in operations:
        op.detach_from_parent()
        body.append(op)
    return holder


def _put_first(operations: list[Operation], module: Operation) -> None:
    body = module.regions[0].blocks[0]
    first = body.operations[0].operation if len(body.operations) else None
    for op in operations:
        op.detach_from_parent()
        if first is None:
            body.append(op)
        else:
            body.append(op)
            op.move_before(first)


def _declaration(function: Operation, module: Operation) -> tuple[str, Operation]:
    from xtc.ir.mlir import InsertionPoint, func

    name, type = symbol_of(function), function.attributes["function_type"].value
    ip = InsertionPoint.at_block_begin(module.regions[0].blocks[0])
    with module.context, function.location:
        declared = func.FuncOp(name, type, visibility="private", ip=ip)
    return name, declared.operation


def symbol_of(op: Operation) -> str:
    """The name of a function or a global."""
    from xtc.ir.mlir import StringAttr

    return str(StringAttr(op.attributes["sym_name"]).value)
