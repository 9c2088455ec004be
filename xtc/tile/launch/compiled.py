# SPDX-License-Identifier: Apache-2.0
"""A compiled kernel: its IR at each stage, its code, resources and launch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from xtc.core.errors import UserError, XtcError
from xtc.driver.cached import CompilationKey
from xtc.interfaces.target import kernel_symbol
from xtc.interfaces.tile_support import Resources
from xtc.ir.attributes import (
    LOCAL_BYTES,
    MANY_BLOCKS,
    NOTES,
    OVERLAPPING,
    RESIDENT_BLOCKS,
    WARPS,
)
from xtc.ir.builders.tile import cluster_of, location_text, number_of
from xtc.ir.mlir import (
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Module,
    Operation,
    StringAttr,
    UnitAttr,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pipeline import Pipeline
from xtc.runtime.device_array import DeviceArray
from xtc.tile.config import support_of
from xtc.tile.interpreter.deadlocks import Residency
from xtc.tile.interpreter.kernel_facts import blocks_wait
from xtc.tile.interpreter.values import numpy_type
from xtc.tile.launch.code import IMAGE, Compiler, run_stages, through
from xtc.tile.launch.host_numbers import Scalars
from xtc.tile.launch.kept import Files, found_or_made, key_of
from xtc.tile.launch.kernel_layouts import layouts_in
from xtc.tile.launch.launches import launch
from xtc.tile.launch.maps import BULK_COPIES, tensor_maps
from xtc.tile.launch.pass_checks import checked_passes, copies
from xtc.tile.launch.replays import Replay
from xtc.tile.launch.residency import is_limited, residency_of
from xtc.tile.launch.written_arguments import written_arguments
from xtc.tile.script import Script
from xtc.tile.settings import dumped
from xtc.tile.transcription.source import parameters, transcribed
from xtc.tile.types import DataType, PointerType
from xtc.tile.values.errors import KernelError

if TYPE_CHECKING:
    from xtc.tile.interpreter.report import Report

TEXT = "text"
"""The file of the machine code."""

_KEPT_MAPS = 16
"""The number of launches per kernel whose tensor maps a device keeps."""


class Kernel:
    """A kernel, compiled for one schedule, one set of constants and one kind of device."""

    def __init__(
        self,
        cls: type[Script],
        schedule: tuple[Sequence[Any], Mapping[str, Any]],
        constants: Mapping[str, Any],
        device: Any,
        as_written: bool = False,
        many_blocks: bool = False,
        overlapping: bool = False,
        resident_blocks: int = 0,
    ) -> None:
        self.name = cls.__name__
        self._made_of = (cls, schedule, constants, device)
        self._variant = as_written, many_blocks, overlapping
        self.schedule = dict(schedule[1])
        self._target, self._options, self.support = support_of(device)
        if as_written:
            self.support = replace(self.support, pipeline=self.support.as_written)
        self._parameters = tuple(p for p in parameters(cls) if not p.is_constant)
        self._kinds = [p.kind for p in self._parameters]
        self._module = transcribed(cls, schedule, constants, self.support.max_warps)
        self.compiler = Compiler(self._target, self._options, self.support.pipeline)
        with self._module.context:
            if many_blocks:
                self.function.attributes[MANY_BLOCKS] = UnitAttr.get()
            if overlapping:
                self.function.attributes[OVERLAPPING] = UnitAttr.get()
            if resident_blocks:
                count = IntegerAttr.get(IntegerType.get_signless(64), resident_blocks)
                self.function.attributes[RESIDENT_BLOCKS] = count
            run_stages(self._module, self.support.pipeline.until("source"))
        self._grids: dict[Any, list[int]] = {}
        self._found: dict[tuple[Operation, str], list[Operation]] = {}
        self._maps: WeakKeyDictionary[Any, dict[Any, list[DeviceArray]]] = WeakKeyDictionary()
        self._images: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()

    @cached_property
    def function(self) -> Operation:
        """The kernel in the dialect `tile`."""
        found: Operation = self._module.body.operations[0].operation
        return found

    @cached_property
    def launched(self) -> Operation:
        """The kernel as launched: the compiler may have partitioned its work differently."""
        self._pipelined = self._lowered("pipelined")  # lives as long as its operations are used
        found: Operation = self._pipelined.body.operations[0].operation
        return found

    @cached_property
    def is_divided(self) -> bool:
        """Whether the compiler partitioned the kernel's work differently from the source."""
        kinds = [
            {op.name for op in all_operations(function) if op.name.startswith("tile.")}
            for function in (self.function, self.launched)
        ]
        return kinds[0] != kinds[1]

    @cached_property
    def undivided(self) -> Kernel:
        """The same kernel with its work partitioned as in the source."""
        return Kernel(*self._made_of, as_written=True)

    @cached_property
    def may_overlap(self) -> bool:
        """Whether the arguments of a launch may overlap in memory, where the kernel writes."""
        return OVERLAPPING in self.function.attributes

    @cached_property
    def overlapping(self) -> Kernel:
        """The same kernel, as written, for launches whose arguments overlap in memory."""
        return Kernel(*self._made_of, as_written=True, overlapping=True)

    @cached_property
    def for_many_blocks(self) -> Kernel:
        """The same kernel for launches of many blocks, whose tiles the compiler may merge."""
        return Kernel(*self._made_of, many_blocks=True)

    @cached_property
    def blocks_wait(self) -> bool:
        """Whether blocks may wait for others that run at the same time."""
        return blocks_wait(all_operations(self.function))

    @cached_property
    def residency(self) -> Residency:
        """The blocks of a launch that the machine holds at the same time."""
        return residency_of(self)

    @cached_property
    def with_residency(self) -> Kernel:
        """The same kernel for a simulator that holds as many blocks as the machine."""
        return Kernel(*self._made_of, *self._variant, resident_blocks=self.residency.blocks)

    def suited_to(self, values: Mapping[str, Any]) -> Kernel:
        """This kernel, or the same kernel for many blocks if a launch has them."""
        if not self._multiplies_copies:
            return self
        try:
            blocks = math.prod(self.grid(values, self.function))
        except UserError:  # a launch raises it
            return self
        parts = self.support.multiprocessors
        waves, merged = -(-blocks // parts), -(-blocks // (2 * parts))
        return self.for_many_blocks if blocks and 2 * merged <= waves else self

    @cached_property
    def _multiplies_copies(self) -> bool:
        """Whether the kernel has a dot of tiles that asynchronous copies bring."""
        return bool(
            self._named(self.function, "tile.dot") and self._named(self.function, "tile.copy_async")
        )

    @property
    def warps(self) -> int:
        """The number of warps per block."""
        return number_of(self.launched, WARPS)

    @property
    def notes(self) -> tuple[str, ...]:
        """The compiler's remarks on the kernel, with the user's lines."""
        if NOTES not in self.launched.attributes:
            return ()
        return tuple(StringAttr(note).value for note in ArrayAttr(self.launched.attributes[NOTES]))

    @cached_property
    def shared_bytes(self) -> int:
        """The shared memory of a block in bytes."""
        return number_of(self.mapped.body.operations[0].operation, LOCAL_BYTES)

    @property
    def symbol(self) -> str:
        """The name of the kernel's function in the device code."""
        return kernel_symbol(symbol_of(self.function))

    def ir(self, stage: str = "source") -> str:
        """The module at a stage: source, pipelined, scheduled, bufferized, offloaded, lowered."""
        return str(self._lowered(stage))

    def _lowered(self, stage: str) -> Module:
        return self.through(self.support.pipeline.until(stage))

    def through(self, pipeline: Pipeline) -> Module:
        """A copy of the module after a pipeline."""
        return through(self.text, self._module.context, pipeline)

    @property
    def text(self) -> str:
        """The module at stage `source`, with locations in the user's files."""
        return str(self._module.operation.get_asm(enable_debug_info=True))

    @property
    def source(self) -> str:
        """The same without locations, which do not affect the code."""
        return str(self._module)

    @property
    def cached(self) -> bool:
        """Whether the device's code comes from the artifact cache; compiles it otherwise."""
        return self._built[1]

    @property
    def image(self) -> bytes:
        """The device image."""
        return self._built[0][IMAGE]

    @cached_property
    def _built(self) -> tuple[Files, bool]:
        """The file of the image, and whether it came from the cache."""
        return found_or_made(self.image_key, self._build)

    @property
    def image_key(self) -> CompilationKey | None:
        """The key of the device's code in the artifact cache.

        The code numbers the user's lines, so the key depends on which operations share a line.
        """
        lines: dict[str, int] = {}
        ops = all_operations(self.function)
        shared = [lines.setdefault(str(op.location), len(lines)) for op in ops]
        return self.key("image", lines=str(shared))

    def line(self, number: int) -> str:
        """The user's line that the device's code knows by a number; "" if there is none."""
        lowered = self._lowered("lowered")
        return self.support.line_of(lowered.operation, number)

    def _build(self) -> Files:
        dumped(self.name, self.source)
        return {IMAGE: self.compiler.image(self.text, self._module.context, self.symbol)}

    @property
    def is_built(self) -> bool:
        """Whether the device code is available."""
        return "_built" in vars(self)

    def take(self, files: Files, cached: bool) -> None:
        """Use device code that another process compiled or that was cached."""
        vars(self)["_built"] = files, cached

    def key(self, what: str, **parts: str) -> CompilationKey | None:
        """The key of this kernel in the artifact cache; None if it is not cached."""
        stages = "as written" if self.support.pipeline is self.support.as_written else "all"
        words = {"tile": what, "source": self.source, "stages": stages, **parts}
        return key_of(self.compiler, words)

    @property
    def code(self) -> str:
        """The device's code as text."""
        lowered = self._lowered("lowered")
        with lowered.context:
            return str(self._target.image_text(lowered.operation, self._options))

    @cached_property
    def ptx(self) -> str:
        """The PTX for the GPU, even if a simulator runs the kernel."""
        files, _ = found_or_made(self.key("machine code"), self._machine_code)
        return files[TEXT].decode()

    def _machine_code(self) -> Files:
        machine = self.support.machine_code
        lowered = self.through(machine.pipeline)
        with lowered.context:
            return {TEXT: machine.text(lowered.operation).encode()}

    @property
    def sass(self) -> str:
        """The machine instructions. Raises ToolError if a CUDA tool is missing."""
        return self.support.machine_code.disassembly(self.ptx)

    @cached_property
    def resources(self) -> Resources:
        """Registers, spills, shared memory and occupancy. Raises ToolError without ptxas."""
        threads = self.warps * self.support.warp_threads
        return self.support.machine_code.resources(self.ptx, threads, self.shared_bytes)

    @property
    def layouts(self) -> tuple[str, ...]:
        """Drawings of the distinct layouts of the kernel's tiles."""
        kernel = self._scheduled.body.operations[0].operation
        return tuple(layout.visualize() for layout in layouts_in(kernel))

    def words(self, values: Mapping[str, Any]) -> list[Any]:
        """The arguments of the function, with arrays."""
        return [values[p.name] for p in self._parameters]

    def scalars(self, values: Mapping[str, Any], function: Operation | None = None) -> Scalars:
        """Scalars of the function, at stage `source` or later, that the arguments determine."""
        block = (function or self.launched).regions[0].blocks[0]
        words = zip(block.arguments, self.words(values), self.kinds(), strict=False)
        return Scalars({a: _number(kind, w) for a, w, kind in words if isinstance(kind, DataType)})

    def made(self, values: Mapping[str, Any]) -> list[np.ndarray[Any, Any]]:
        """The zero-filled buffers that a launch allocates for added arguments."""
        buffers = self._named(self.function, "tile.buffer")
        if not buffers:
            return []
        scalars = self.scalars(values, self.function)
        found = []
        for op in buffers:
            sizes = [scalars.number(size) for size in list(op.operands)[1:]]
            if any(size is None for size in sizes):
                raise KernelError(
                    f"a global_tensor of {self.name} depends on more than its arguments",
                    where=location_text(op.location),
                    hints=["compute its shape from the kernel's parameters"],
                )
            dtype = numpy_type(MemRefType(op.operands[0].type).element_type)
            found.append(np.zeros(max(1, math.prod(sizes)), dtype))
        return found

    def _named(self, function: Operation, name: str) -> list[Operation]:
        """The operations of this name; cached, because each launch needs them."""
        if (function, name) not in self._found:
            ops = [op for op in all_operations(function) if op.name == name]
            self._found[function, name] = ops
        return self._found[function, name]

    def kinds(self) -> list[Any]:
        """The types of the function's arguments."""
        return self._kinds

    def grid(self, values: Mapping[str, Any], function: Operation | None = None) -> list[int]:
        """The blocks of a launch in x, y and z; `function` is the kernel at another stage.

        Raises UserError if they depend on more than the arguments.
        """
        function = function or self.launched
        numbers = [values[p.name] for p in self._parameters if isinstance(p.kind, DataType)]
        key = (function, tuple(numbers))
        if key not in self._grids:
            self._grids = {key: self._new_grid(values, function)}  # of the last launch
        return self._grids[key]

    def _new_grid(self, values: Mapping[str, Any], function: Operation) -> list[int]:
        return self._blocks(values, function, self._named(function, "tile.grid"))

    def _blocks(
        self, values: Mapping[str, Any], function: Operation, grids: Sequence[Operation]
    ) -> list[int]:
        scalars = self.scalars(values, function)
        (op,) = grids
        sizes = [scalars.number(value) for value in op.operands]
        if any(size is None for size in sizes):
            raise KernelError(
                f"the grid of {self.name} depends on more than its arguments",
                where=location_text(op.location),
                hints=["compute attrs.blocks from the kernel's parameters: cdiv(n, 128)"],
            )
        cluster = cluster_of(self.function)
        if any(size % part for size, part in zip(sizes, cluster, strict=True)):
            raise KernelError(
                f"the grid of {self.name} is {list(sizes)}, which clusters of {list(cluster)} "
                "blocks do not divide",
                where=location_text(op.location),
                hints=["round attrs.blocks up: cdiv(n, block * cluster) * cluster"],
            )
        return sizes

    @cached_property
    def written(self) -> list[bool]:
        """For each argument of the function, whether the kernel writes its memory."""
        stored = written_arguments(self.function)
        return [number in stored for number in range(len(self.kinds()))]

    def launch(self, device: Any, values: Mapping[str, Any]) -> Replay | None:
        """Run the kernel; see `xtc.tile.launch.launches`."""
        return launch(self, device, values)

    def maps_on(
        self, device: Any, values: Mapping[str, Any], arguments: Sequence[Any]
    ) -> list[DeviceArray]:
        """The tensor maps on a device; maps of earlier launches are reused."""
        if not self._has_maps:
            return []
        kept = self._maps.setdefault(device, {})
        key = (device.opened(), tuple(map(_key, arguments)))
        if key not in kept:
            made = tensor_maps(self, values, arguments)
            if len(kept) == _KEPT_MAPS:
                del kept[next(iter(kept))]
            kept[key] = list(map(device.array, made))
        return kept[key]

    @cached_property
    def _has_maps(self) -> bool:
        """Whether bulk copies need tensor maps."""
        return any(op.name in BULK_COPIES for op in all_operations(self.launched))

    def function_on(self, device: Any) -> Any:
        """The function on a device, loaded on first use."""
        kept = self._images.get(device)
        if kept is not None and kept[0] is device.opened():
            return kept[1]
        function = device.get_module_function(device.load_module(self.image), self.symbol)
        self._images[device] = (device.opened(), function)
        return function

    def check(self, values: Mapping[str, Any]) -> Report:
        """Run the kernel in the interpreter; see `Program.check`."""
        if not self.is_divided:
            return self.interpreted(self._scheduled, values)
        again = copies(values)
        report = self.undivided.check(values)
        try:
            report.compiled = self.interpreted(self._scheduled, again)
        except XtcError as error:
            error.notes = (
                *error.notes,
                "only in the compiled kernel: a compiler bug",
            )
            raise
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value[...] = again[name]  # rounded as on a device
        return report

    def check_passes(self, values: Mapping[str, Any]) -> dict[str, Report]:
        """Run the kernel in the interpreter after each pass; see `Program.check_passes`."""
        return checked_passes(self, values)

    def interpreted(self, module: Module, values: Mapping[str, Any]) -> Report:
        """Run the kernel, at a stage with layouts, in the interpreter."""
        from xtc.tile.interpreter.run import interpret

        buffers = [
            w if isinstance(k, PointerType) else _number(k, w)
            for w, k in zip(self.words(values), self.kinds(), strict=True)
        ]
        kernel = module.body.operations[0].operation
        given = [*buffers, *self.made(values)]
        maps = len(kernel.regions[0].blocks[0].arguments) - len(given)
        if module is self._scheduled:
            grid = self.grid(values)
        else:  # which does not live on, and nothing may remember its operations
            grids = [op for op in all_operations(kernel) if op.name == "tile.grid"]
            grid = self._blocks(values, kernel, grids)
        residency = self.residency if is_limited(self, grid) else None
        return interpret(kernel, [*given, *[None] * maps], grid, residency)

    @cached_property
    def mapped(self) -> Module:
        """The module with the tensor maps of bulk copies."""
        return self._lowered("bufferized")

    @cached_property
    def _scheduled(self) -> Module:
        """The module with layouts."""
        return self._lowered("scheduled")


def _key(word: Any) -> Any:
    """The identity of an argument: a number, or the address of an array."""
    if isinstance(word, np.generic):
        return word.item()
    if isinstance(word, int | float):
        return word
    return getattr(word, "address", None) or object()  # equal to no other


def _number(kind: DataType, value: Any) -> Any:
    """A number as in the interpreter, which stores integers as signed ones of the same bits."""
    found = np.asarray(value, kind.argument.numpy)
    return (found.view(f"i{found.itemsize}") if found.dtype.kind == "u" else found)[()]
