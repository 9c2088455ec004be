# SPDX-License-Identifier: Apache-2.0
"""The types of CSL, and the layout of their values in a PE's memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

DSD_BYTES = 32
"""Bytes of a descriptor in memory; `wse_dsd` of `csrc/wse_code.h`."""


class Type:
    """A type; types compare by value."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Bytes of a value in memory; 0 for compile-time types."""
        return 0

    @property
    def alignment(self) -> int:
        return max(1, min(self.size, 4))


@dataclass(frozen=True, slots=True)
class Int(Type):
    """Integers of 1 to 64 bits."""

    bits: int
    signed: bool

    def __str__(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.bits}"

    @property
    def size(self) -> int:
        return int(1 << max(0, (self.bits - 1).bit_length() - 3))

    @property
    def lowest(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << (self.bits - self.signed)) - 1

    def wrapped(self, value: int) -> int:
        """`value` modulo 2^bits, in the type's range."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if value > self.highest else value


@dataclass(frozen=True, slots=True)
class Float(Type):
    """Floats by name."""

    name: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.bits // 8


@dataclass(frozen=True, slots=True)
class Simple(Type):
    """A type without parts. `nbytes` is 0 for compile-time types."""

    name: str
    nbytes: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.nbytes


@dataclass(frozen=True, slots=True)
class Handle(Type):
    """A color, task id, queue or similar: a number that denotes a part of the machine."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return 2


@dataclass(frozen=True, slots=True)
class Dsd(Type):
    """A descriptor."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return DSD_BYTES


@dataclass(frozen=True, slots=True)
class Array(Type):
    """Elements in row-major order."""

    shape: tuple[int, ...]
    element: Type

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.shape))}]{self.element}"

    @property
    def count(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def size(self) -> int:
        return self.count * self.element.size

    @property
    def alignment(self) -> int:
        return self.element.alignment


@dataclass(frozen=True, slots=True)
class Pointer(Type):
    """A 16-bit address of one element, or of `many`."""

    element: Type
    many: bool = False
    const: bool = False
    number: bool = field(compare=False, default=False)
    """Whether it was made from a number, so that it may address a register of the machine."""

    def __str__(self) -> str:
        return f"{'[*]' if self.many else '*'}{'const ' if self.const else ''}{self.element}"

    @property
    def size(self) -> int:
        return 2


@dataclass(frozen=True, slots=True)
class Fn(Type):
    """Functions and tasks."""

    params: tuple[Type, ...]
    result: Type

    def __str__(self) -> str:
        return f"fn({', '.join(map(str, self.params))}) {self.result}"


@dataclass(frozen=True, slots=True)
class Struct(Type):
    """A struct with named fields; `identity` distinguishes structs with equal fields."""

    identity: object
    name: str = field(compare=False)
    fields: tuple[tuple[str, Type], ...] = field(compare=False, hash=False)
    packed: bool = field(compare=False, default=False)
    union: bool = field(compare=False, default=False)
    """Whether it is a union, whose fields share one location."""

    def __str__(self) -> str:
        return self.name

    def field_type(self, name: str) -> Type | None:
        return dict(self.fields).get(name)

    @property
    def offsets(self) -> dict[str, int]:
        if self.union:
            return dict.fromkeys((name for name, _ in self.fields), 0)
        found, offset = {}, 0
        for name, kind in self.fields:
            step = 1 if self.packed else kind.alignment
            offset = -(-offset // step) * step
            found[name] = offset
            offset += kind.size
        return found

    @property
    def size(self) -> int:
        if not self.fields:
            return 0
        offsets, step = self.offsets, self.alignment
        end = max(offsets[name] + kind.size for name, kind in self.fields)
        return -(-end // step) * step

    @property
    def alignment(self) -> int:
        return 1 if self.packed else max((kind.alignment for _, kind in self.fields), default=1)


@dataclass(frozen=True, slots=True)
class Enum(Type):
    """Named integers."""

    identity: object
    name: str = field(compare=False)
    base: Int = field(compare=False)
    members: tuple[tuple[str, int], ...] = field(compare=False, hash=False)

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.base.size


BOOL, VOID = Simple("bool", 1), Simple("void")
COMPTIME_INT, COMPTIME_FLOAT = Simple("comptime_int"), Simple("comptime_float")
TYPE, STRING, MODULE = Simple("type"), Simple("comptime_string"), Simple("imported_module")
RANGE, ANONYMOUS = Simple("range"), Simple("comptime_struct")
ANYTYPE, ACCESS = Simple("anytype"), Simple("tensor access")
F16, BF16, F32, F64 = Float("f16", 16), Float("bf16", 16), Float("f32", 32), Float("f64", 64)
CB16 = Float("cb16", 16)
I16, U16, I32, U32 = Int(16, True), Int(16, False), Int(32, True), Int(32, False)
COLOR = Handle("color")
LOCAL_TASK, DATA_TASK = Handle("local_task_id"), Handle("data_task_id")
CONTROL_TASK = Handle("control_task_id")
INPUT_QUEUE, OUTPUT_QUEUE, UT = Handle("input_queue"), Handle("output_queue"), Handle("ut_id")
DIRECTION = Handle("direction")
DSR_DEST, DSR_SRC0, DSR_SRC1 = Handle("dsr_dest"), Handle("dsr_src0"), Handle("dsr_src1")
DSRS = (DSR_DEST, DSR_SRC0, DSR_SRC1)
XDSR = Handle("xdsr")
MEM1D, MEM4D = Dsd("mem1d_dsd"), Dsd("mem4d_dsd")
FABIN, FABOUT, FIFO = Dsd("fabin_dsd"), Dsd("fabout_dsd"), Dsd("fifo")

_NAMED: dict[str, Type] = {
    str(kind): kind
    for kind in (
        BOOL, VOID, COMPTIME_INT, COMPTIME_FLOAT, TYPE, STRING, MODULE, RANGE, ANONYMOUS, ANYTYPE,
        F16, BF16, F32, COLOR, LOCAL_TASK, DATA_TASK, CONTROL_TASK, INPUT_QUEUE, OUTPUT_QUEUE, UT,
        DIRECTION, *DSRS, XDSR, MEM1D, MEM4D, FABIN, FABOUT,
    )
}  # fmt: skip
_NAMED["data_task"] = DATA_TASK
_NAMED["comptime_string"] = STRING


@cache
def named(name: str) -> Type | None:
    """The built-in type of that name, such as i16, u7, f32 or color."""
    if name[0] in "iu" and name[1:].isdigit() and 0 < int(name[1:]) <= 64 and name[1] != "0":
        return Int(int(name[1:]), name[0] == "i")
    return _NAMED.get(name)


def is_number(kind: Type) -> bool:
    """Whether a type is an integer or float, sized or not."""
    return isinstance(kind, Int | Float) or kind in (COMPTIME_INT, COMPTIME_FLOAT)


def is_integer(kind: Type) -> bool:
    """Whether a type is an integer, sized or not."""
    return isinstance(kind, Int) or kind == COMPTIME_INT


def is_float(kind: Type) -> bool:
    """Whether a type is a float, sized or not."""
    return isinstance(kind, Float) or kind == COMPTIME_FLOAT


def is_runtime(kind: Type) -> bool:
    """Whether values of this type can exist on a PE."""
    if isinstance(kind, Array):
        return is_runtime(kind.element)
    if isinstance(kind, Struct):
        return all(is_runtime(each) for _, each in kind.fields)
    return kind.size > 0


def is_aggregate(kind: Type) -> bool:
    """Whether values are handled by address."""
    return isinstance(kind, Array | Struct | Dsd)
