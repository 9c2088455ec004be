# SPDX-License-Identifier: Apache-2.0
"""The state of an evaluation: the layout, or the code of one tile class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.description import MEMCPY_BYTES, SRAM_BYTES, Architecture
from xtc_targets.wse.sema import convert, functions
from xtc_targets.wse.sema import evaluate as e
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.accesses import struct_of
from xtc_targets.wse.sema.builtins.known import find
from xtc_targets.wse.sema.declarations import CONTROL_TASKS, LayoutDeclarations, TileDeclarations
from xtc_targets.wse.sema.descriptor import BASE
from xtc_targets.wse.sema.frame import Frame, Memory, Scope
from xtc_targets.wse.sema.interpret import execute
from xtc_targets.wse.sema.module import LIBRARY, Module, locate
from xtc_targets.wse.sema.shared import SharedCode
from xtc_targets.wse.sema.values import (
    AccessValue,
    Address,
    Const,
    DsdValue,
    FunctionValue,
    Global,
    Value,
    key_of,
)

STEPS = 300_000
"""The most expressions and statements that are evaluated; more for large rectangles."""
STEPS_OF_PE = 2_000


class Program:
    """The state shared by one evaluation."""

    def __init__(
        self, arch: Architecture, shared: SharedCode, rectangle: tuple[int, int] | None = None
    ) -> None:
        self.arch = arch
        self.shared = shared
        self.instances = functions.Instances()
        self.layout: LayoutDeclarations | None = None
        self.tile: TileDeclarations | None = None
        self.divisors: set[int] = set()
        self.declared: set[str] = set()
        self.said: list[str] = []
        self.texts: list[str] = []
        self.globals: list[Global] = []
        self.per_pe: dict[str, tuple[Global, t.Int]] = {}
        self.largest: tuple[int, int] = (1 << 16, 1 << 16)
        self._rectangle = rectangle
        self._modules: dict[object, Module] = {}
        self._waiting: list[Module] = []
        self._constants: dict[object, Global] = {}
        self._later: list[Callable[[], object]] = []
        self._steps = STEPS + STEPS_OF_PE * (rectangle[0] * rectangle[1] if rectangle else 0)
        self._end = MEMCPY_BYTES

    # Evaluation ---------------------------------------------------------------------------------

    def frame(self, module: Module) -> Frame:
        return Frame(self, module, Scope())

    def tick(self, at: Position) -> None:
        """Count a step. Raises CslError if there were too many, as in an endless loop."""
        self._steps -= 1
        if self._steps < 0:
            raise CslError(
                "this takes too long at compile time",
                where=at,
                notes=["perhaps a loop that ends only at run time is in a comptime block"],
            )

    def evaluate(self, frame: Frame, expr: tree.Expr) -> Value:
        return e.evaluate(frame, expr)

    def type_of(self, frame: Frame, expr: tree.Expr) -> t.Type:
        return e.type_of(frame, expr)

    def coerce(self, frame: Frame, value: Value, kind: t.Type, at: Position) -> Value:
        return convert.coerce(frame, value, kind, at)

    def builtin(self, frame: Frame, call: tree.Builtin) -> Value:
        return find(call.name, call.at)(frame, call)

    def call(
        self, frame: Frame, callee: FunctionValue, args: Sequence[Value], at: Position
    ) -> Value:
        return functions.call(frame, callee, args, at)

    def signature(self, callee: FunctionValue) -> tuple[list[t.Type], t.Type]:
        """The types of a function's parameters and result."""
        frame = self.frame(callee.module)
        params = [e.type_of(frame, each.type) for each in callee.tree.params]
        return params, e.type_of(frame, callee.tree.result)

    def as_parameter(self, frame: Frame, value: Value, kind: t.Type, at: Position) -> Value:
        """A module's parameter, converted to its declared type; numbers may become handles."""
        number = t.is_integer(value.type) or isinstance(value.type, t.Handle)
        if isinstance(kind, t.Handle) and isinstance(value, Const) and number:
            return Const(kind, value.value)
        if kind == t.BOOL and isinstance(value, Const) and t.is_integer(value.type):
            return Const(kind, bool(value.value))
        return convert.coerce(frame, value, kind, at)

    def parameter_as_data(self, name: str, kind: t.Type, at: Position) -> Memory:
        """The location of a tile parameter whose value differs per PE."""
        if not isinstance(kind, t.Int) or kind.bits > 32:
            raise CslError(f"the parameter '{name}' of type {kind} cannot be data", where=at)
        placed = Global(name, kind, None, at, const=True)
        self.per_pe[name] = (placed, kind)
        return Memory(kind, Address(placed), const=True)

    def renamed(self, kind: t.Type, name: str) -> t.Type:
        """A struct or enum with the name under which it was declared."""
        if isinstance(kind, t.Struct | t.Enum) and kind.name in ("struct", "enum"):
            return replace(kind, name=name)
        return kind

    def say(self, text: str) -> None:
        self.said.append(text)

    def after_comptime(self, work: Callable[[], object]) -> None:
        """Register work to be done after all comptime blocks."""
        self._later.append(work)

    # Modules ------------------------------------------------------------------------------------

    def imported(self, frame: Frame, name: str, given: Mapping[str, Value], at: Position) -> Module:
        """The module of a file with given parameters, created once. Raises CslError."""
        return self.open(
            locate(name, frame.module.path, self.shared.environment.import_paths, at), given, at
        )

    def open(self, path: Path, given: Mapping[str, Value], at: Position | None) -> Module:
        key = (path, tuple((name, key_of(value)) for name, value in given.items()))
        if key not in self._modules:
            if len(self._modules) > 1000:
                raise CslError("more than 1,000 modules", where=at)
            try:
                self._modules[key] = Module(self, path, given)
            except CslError as error:
                if error.where is None and at is not None:
                    error.where = at
                    raise CslError(error.what, where=at, hints=error.hints) from None
                raise
            self._waiting.append(self._modules[key])
        return self._modules[key]

    def run_blocks(self, kind: type[tree.Layout] | None = None) -> None:
        """Execute the `comptime` blocks of all modules, or the `layout` blocks of the first."""
        while self._waiting:
            module = self._waiting.pop(0)
            module.force_imports()
            for item in module.file.items:
                if isinstance(item, tree.Block) and item.comptime:
                    execute(self.frame(module), item)
                elif kind is not None and isinstance(item, tree.Layout):
                    execute(self.frame(module), item.body)
        while self._later:
            self._later.pop(0)()

    def host_colors(self) -> tuple[int, int]:
        """The colors on which memcpy streams to and from this tile, as bits."""
        bits = {"H2D": 0, "D2H": 0}
        for module in self._modules.values():
            if module.path != LIBRARY / "memcpy" / "memcpy.csl":
                continue
            for name, value in module.given.items():
                way = name.removeprefix("MEMCPY")[:3]
                if way in bits and isinstance(value, Const) and int(value.value) >= 0:
                    bits[way] |= 1 << int(value.value)
        return bits["H2D"], bits["D2H"]

    def place_exported(self) -> bool:
        """Assign addresses to `export var` variables; return whether there are any."""
        found = False
        for module in list(self._modules.values()):
            for item in module.file.items:
                if isinstance(item, tree.Declaration) and item.storage == "export":
                    location = module.member(item.name, item.at)
                    if isinstance(location, Memory) and isinstance(location.address, Address):
                        self.address_of(location.address)
                        found = True
        return found

    # The rectangle ------------------------------------------------------------------------------

    def rectangle(self, at: Position) -> tuple[int, int]:
        if self.layout is not None and self.layout.width:
            return self.layout.width, self.layout.height
        if self.layout is not None or self._rectangle is None:
            raise CslError("@set_rectangle was not called yet", where=at)
        return self._rectangle

    def check_rectangle(self, width: int, height: int, at: Position) -> None:
        if width > self.largest[0] or height > self.largest[1]:
            raise CslError(
                f"a rectangle of {width} x {height} PEs does not fit",
                where=at,
                notes=[f"--fabric-dims and --fabric-offsets leave {self.largest[0]} x "
                       f"{self.largest[1]}"],
            )  # fmt: skip
        self._steps += STEPS_OF_PE * width * height

    # The memory of a PE -------------------------------------------------------------------------

    def address_of(self, address: Address) -> int:
        """The number of an address in the PE's memory; its global is placed on first use."""
        base = address.base
        if base.address is None:
            if self.tile is None:
                raise CslError(f"'{base.name}' is not a variable of a PE", where=base.at)
            step = max(base.alignment, base.type.alignment, 2)
            base.address = -(-self._end // step) * step
            self._end = base.address + base.type.size
            self.globals.append(base)
        return base.address + address.offset

    @property
    def memory_end(self) -> int:
        return self._end

    def check_memory(self, name: str) -> None:
        """Raise CslError if variables do not fit in a PE's memory."""
        if self._end <= SRAM_BYTES:
            return
        largest = sorted(self.globals, key=lambda each: -each.type.size)[:5]
        raise CslError(
            f"the data of {name} take {self._end} bytes, but a PE has {SRAM_BYTES}",
            notes=[
                f"{each.name}: {each.type}, {each.type.size} bytes, at {each.at}"
                for each in largest
            ]
            + [f"memcpy takes {MEMCPY_BYTES} bytes"],
        )

    def struct_of_access(self, access: AccessValue) -> Const:
        """The struct that is equivalent to a tensor access."""
        return struct_of(access)

    def constant(self, value: Value, at: Position) -> Global:
        """A constant's location in the PE's memory, shared by equal constants."""
        if not isinstance(value, Const):
            raise CslError("this must be known at compile time", where=at)
        key = key_of(value)
        if key not in self._constants:
            self._constants[key] = Global("constant", value.type, value, at, const=True)
        return self._constants[key]

    def constant_dsd(self, value: DsdValue) -> str:
        """A descriptor as a constant in the code."""
        words = list(value.words)
        if value.base is not None:
            words[BASE] = self.address_of(value.base)
        texts = ", ".join(f"i16 {word & 0xFFFF}" for word in words)
        return self.shared.dsd(texts)

    def text_number(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def task_id(self, function: FunctionValue, at: Position) -> int:
        """The id that a task is bound to. Raises CslError if there is none."""
        for number, binding in (self.tile or TileDeclarations()).tasks.items():
            if binding.function == function:
                return self._shared_id(number, function, at)
        raise CslError(f"the task '{function.name}' is not bound to an id", where=at)

    def _shared_id(self, key: int, function: FunctionValue, at: Position) -> int:
        number = (self.tile or TileDeclarations()).task_number(key)
        if number >= CONTROL_TASKS:
            raise CslError(
                f"the task '{function.name}' is in a separate table, and called by wavelets only",
                where=at,
            )
        return number
