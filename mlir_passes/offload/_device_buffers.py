# SPDX-License-Identifier: Apache-2.0
"""Buffers in a device's main memory, and copies between them and host buffers."""

from __future__ import annotations

import math

from xtc.ir.attributes import DEVICE, SHARDS
from xtc.ir.mlir import (
    Attribute,
    Block,
    InsertionPoint,
    IntegerAttr,
    MemRefType,
    StringAttr,
    Value,
    memref,
)
from xtc_passes.offload._element_bytes import element_bytes

DEVICE_MEMORY = 1
"""The memory space of a device's main memory."""


def copy_in(host: Value, twin: Value, device: str, ip: InsertionPoint) -> None:
    """Copy to a device; a strided source is gathered first, because devices copy whole buffers."""
    if _dense(host.type) != host.type:
        gathered = allocate(_dense(host.type), {}, ip)
        _copy(host, gathered, {}, ip)
        host = gathered
    _copy(host, twin, {DEVICE: StringAttr.get(device)}, ip)


def copy_out(twin: Value, host: Value, device: str, ip: InsertionPoint) -> None:
    """Copy from a device; a strided target is scattered to afterwards."""
    placed = {DEVICE: StringAttr.get(device)}
    if _dense(host.type) == host.type:
        _copy(twin, host, placed, ip)
        return
    gathered = allocate(_dense(host.type), {}, ip)
    _copy(twin, gathered, placed, ip)
    _copy(gathered, host, {}, ip)


def copy_within(source: Value, target: Value, device: str, ip: InsertionPoint) -> None:
    """Copy between two buffers of a device."""
    _copy(source, target, {DEVICE: StringAttr.get(device)}, ip)


def _copy(
    source: Value, target: Value, attributes: dict[str, Attribute], ip: InsertionPoint
) -> None:
    result = memref.copy(source, target, ip=ip).operation
    for name, value in attributes.items():
        result.attributes[name] = value


def allocate(type: MemRefType, attributes: dict[str, Attribute], ip: InsertionPoint) -> Value:
    """A new buffer of static shape."""
    buffer = memref.alloc(type, [], [], ip=ip)
    for name, value in attributes.items():
        buffer.owner.attributes[name] = value
    return buffer


def on_device(type: MemRefType) -> MemRefType:
    """A dense memref of this shape in a device's main memory."""
    plain = MemRefType(type)
    space = Attribute.parse(f"{DEVICE_MEMORY} : i64")
    return MemRefType.get(plain.shape, plain.element_type, None, space)


def _dense(type: MemRefType) -> MemRefType:
    plain = MemRefType(type)
    return MemRefType.get(plain.shape, plain.element_type)


def shards_of(buffer: Value) -> int:
    """The number of shards of a device buffer in host code; 0 if it is replicated."""
    if not isinstance(buffer.owner, Block):
        attributes = buffer.owner.operation.attributes
    else:
        described = buffer.owner.owner.attributes
        if "arg_attrs" not in described:
            return 0
        attributes = described["arg_attrs"][buffer.arg_number]
    return int(IntegerAttr(attributes[SHARDS]).value) if SHARDS in attributes else 0


def shard_bytes(type: MemRefType, shards: int) -> int:
    """Bytes of a shard of a dense memref, whose rows are padded to equal parts."""
    plain = MemRefType(type)
    rows, *others = plain.shape
    return int(-(-rows // shards) * math.prod(others)) * element_bytes(plain.element_type)


def in_space(type: MemRefType, space: Attribute | None) -> MemRefType:
    """The same memref type in another memory space."""
    plain = MemRefType(type)
    return MemRefType.get(plain.shape, plain.element_type, plain.layout, space)
