# SPDX-License-Identifier: Apache-2.0
"""The spine: graph -> module -> stages -> artefact -> callable."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.driver.assignment import DeviceCode, assignment_of
from xtc.driver.cached import Built, build_or_fetch
from xtc.driver.default_schedules import default_schedules
from xtc.driver.device_images import build_devices, device_texts
from xtc.driver.live_devices import accelerator, live_devices, require_used
from xtc.driver.module import Module
from xtc.driver.specialised import SpecialisedModule, specialised
from xtc.driver.tuned import TUNED, tuned_schedule
from xtc.driver.whole_pipeline import whole_pipeline
from xtc.emit.module import constant_symbol, module_text, stored_constants
from xtc.graph.builder import GraphBuilder
from xtc.graph.family import GraphFamily
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.interfaces.artifact import Argument, Artifact
from xtc.interfaces.runtime import AcceleratorDevice, ProgramRuntime
from xtc.interfaces.target import DEFAULT_TARGET, BuildRequest, ProgramTarget
from xtc.ir.packed_constants import bytes_of, packed_constants
from xtc.ir.pass_filter import PassFilter
from xtc.ir.pass_text import steps_by_stage
from xtc.ir.passes import Pass
from xtc.ir.pipeline import PassRunner, Pipeline, Step, print_banner
from xtc.schedule import Schedule, schedule_texts
from xtc.system.workspace import private_folder

if TYPE_CHECKING:
    from xtc.ir.mlir import Context, Operation


@dataclass(frozen=True)
class IrOptions:
    """What to show of the IR on the way.

    Attributes:
        dump_dir: folder that receives the IR after every pass, one file per pass.
        print_after_all: print the IR after every pass on standard error.
        time_passes: keep the wall time of every pass beside that of every stage.
        print_after: print the IR after the passes of these names.
        print_after_change: print the IR only after passes that change it.
    """

    dump_dir: Path | None = None
    print_after_all: bool = False
    time_passes: bool = False
    print_after: tuple[str, ...] = ()
    print_after_change: bool = False

    def runner(self) -> PassRunner:
        """A runner that does so."""
        folder = self.dump_dir or knobs.DUMP_DIR.get()
        prints = self.print_after_all or self.print_after or self.print_after_change
        names = () if self.print_after_all else self.print_after
        return PassRunner(
            dump_dir=folder,
            print_after=print_banner if prints else None,
            time_passes=self.time_passes,
            printed=PassFilter(names, self.print_after_change),
        )


@dataclass
class Compilation:
    """A graph on its way through the stages of its machines; `xtc-compile` walks it step by step.

    Attributes:
        graph: with its dimensions fixed.
        target: of the program.
        options: the program's.
        runner: of the passes.
        schedules: of operators, as text.
        devices: how the kernels of each device are compiled.
        passes: the user's own, to run at the ends of stages.
    """

    graph: Graph
    target: ProgramTarget
    options: Any
    runner: PassRunner = field(default_factory=PassRunner)
    schedules: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, DeviceCode] = field(default_factory=dict)
    passes: Mapping[str, Sequence[Step]] = field(default_factory=dict)

    def pipeline(self) -> Pipeline:
        """The stages, those of the devices and the user's passes included."""
        stages = whole_pipeline(self.target.pipeline(self.options), self.devices)
        return stages.extended(self.passes)

    @property
    def roundoff(self) -> float:
        """Unit roundoff of what kernels round float32 to at the user's wish; 0 where none does."""
        devices = self.devices.values()
        return max((device.target.roundoff(device.options) for device in devices), default=0.0)

    def stage_text(self, stage: str) -> str:
        """The IR of a stage, or the text of the generated code for "code"."""
        from xtc.ir import mlir

        pipeline = self.pipeline()
        if stage != "code":
            pipeline = pipeline.until(stage)
        with mlir.Context():
            module = mlir.Module.parse(self.source()).operation
            self.runner.run(module, pipeline)
            return self._code_text(module) if stage == "code" else str(module)

    def build(self, folder: Path | None, context: Context | None = None) -> Artifact:
        """Run all stages and build into `folder`, or in memory where it is None.

        `context` is where MLIR does so; a new one takes some milliseconds to be made.
        """
        from xtc.ir import mlir

        start = time.perf_counter()
        text = self.source()
        with context or mlir.Context():
            module = mlir.Module.parse(text).operation
            self.runner.seconds["emit"] = time.perf_counter() - start
            self.runner.run(module, self.pipeline())
            start = time.perf_counter()
            request = self.request()
            if self.devices:
                request = build_devices(module, request, self.devices, folder)
            constants = packed_constants(module, request.constants)
            request = replace(request, constants=constants)
            if folder is None:
                artifact = self.target.build_in_memory(module, request, self.options)
            else:
                artifact = self.target.build(module, request, self.options, folder)
        self.runner.seconds["code"] = time.perf_counter() - start
        return artifact

    def _code_text(self, module: Operation) -> str:
        texts = list(device_texts(module, self.devices))  # what is left is the host's
        return "".join([self.target.code(module, self.request(), self.options), *texts])

    @property
    def schedule(self) -> Schedule:
        """The schedules in use: the user's, and those that the target chooses."""
        given = self.schedules
        chosen = default_schedules(self)
        lines = [f"{name}: {text}" for name, text in {**chosen, **given}.items()]
        return Schedule.of(self.graph, "\n".join(lines))

    def source(self, *, locations: bool = True) -> str:
        """The source stage as text, schedules included, with or without the user's lines."""
        return module_text(self.graph, self.schedules, locations=locations)

    def request(self) -> BuildRequest:
        """What the target needs beside the IR."""
        constants = {symbol: bytes_of(array) for symbol, array in self.constants().items()}
        return BuildRequest(self.graph.name, self.arguments(), constants, self.graph.flops)

    def arguments(self) -> tuple[Argument, ...]:
        """The entry's arguments."""
        inputs = (_argument(tensor, "input") for tensor in self.graph.inputs)
        outputs = (_argument(tensor, "output") for tensor in self.graph.outputs)
        return (*inputs, *outputs)

    def initial_states(self) -> dict[str, np.ndarray[Any, Any]]:
        """What states are before the first call, by name, where that is not zeros."""
        states = (state for state, _ in self.graph.updates)
        return {str(s.name): s.initial for s in states if s.initial is not None}

    def constants(self) -> dict[str, np.ndarray[Any, Any]]:
        """The constants that travel beside the code, by symbol."""
        return {
            constant_symbol(self.graph, tensor): tensor.const
            for tensor in stored_constants(self.graph)
            if tensor.const is not None
        }


@overload
def compile(
    graph: Graph | GraphBuilder, target: object = DEFAULT_TARGET, **options: Any
) -> Module: ...


@overload
def compile(
    graph: GraphFamily, target: object = DEFAULT_TARGET, **options: Any
) -> Module | SpecialisedModule: ...


def compile(
    graph: Graph | GraphBuilder | GraphFamily,
    target: object = DEFAULT_TARGET,
    *,
    dims: Mapping[str, int] | None = None,
    schedule: object = None,
    dump_dir: str | Path | None = None,
    print_ir_after_all: bool = False,
    print_ir_after: Sequence[str] = (),
    print_ir_after_change: bool = False,
    time_passes: bool = False,
    passes: Mapping[str, Sequence[Pass | str]] | None = None,
    in_memory: bool = False,
    cache: bool = True,
    **options: Any,
) -> Module | SpecialisedModule:
    """Compile a graph and load it, ready to be called on arrays.

    Args:
        graph: what `O.graph` made, or the builder itself; or a model from a file, which is compiled
            for the sizes that calls bring where some of its sizes are free.
        target: a target's name, or a device of it, which then runs the code and stays open.
        dims: sizes of the graph's symbolic dimensions.
        schedule: an `xtc.Schedule`, a mapping of loop nests by operator name, YAML text of one, or
            a Path; "tuned" for the best that `xtc-tune` has found on this machine; operators
            without one run as the target thinks best.
        dump_dir: folder that receives the IR after every pass.
        print_ir_after_all: print the IR after every pass on standard error.
        print_ir_after: print the IR after the passes of these names.
        print_ir_after_change: print the IR after passes that change it, of those to be printed.
        passes: passes to run at the end of a stage, by its name: instances of `Pass`, or text as
            for xtc-opt, `"canonicalize"` or `"my-pass{size=4}"`.
        time_passes: keep each pass's time in `module.compile_seconds`.
        in_memory: skip the link step and load the objects directly, for searches; not cached.
        cache: take what was built before from the cache, and keep there what is built. Neither
            happens where the IR is dumped, printed or timed.
        options: the target's own, such as `cpu="skylake-avx512"` on the host.

    Raises:
        UserError: something the user wrote does not fit.
        CompileError: a pass or the code generator failed; says how to reproduce it.
        DeviceNotFound: this processor cannot run the program. Where a device of its kernels is not
            there, the module is built, and calls of it raise this.
    """
    ir = IrOptions(
        Path(dump_dir) if dump_dir else None,
        print_ir_after_all,
        time_passes,
        (print_ir_after,) if isinstance(print_ir_after, str) else tuple(print_ir_after),
        print_ir_after_change,
    )
    request = {"schedule": schedule, "ir": ir, "passes": passes, **options}
    if isinstance(graph, GraphFamily):
        build = partial(_load, target=target, request=request, in_memory=in_memory, cache=cache)
        return specialised(graph, dims or {}, build)
    return _load(graph, target, {"dims": dims, **request}, in_memory=in_memory, cache=cache)


def _load(
    graph: Graph | GraphBuilder,
    target: object,
    request: Mapping[str, Any],
    *,
    in_memory: bool,
    cache: bool,
) -> Module:
    """Compile and load what `prepare` makes of `graph` and the request."""
    compilation = prepare(graph, target, **request)
    with ExitStack() as resources:
        host, devices = _runtimes(target, compilation, resources)
        if in_memory:
            built = Built(compilation.build(None), cached=False)
        else:
            folder = Path(resources.enter_context(private_folder("module-")))
            built = build_or_fetch(compilation, folder, cache)
        return Module(compilation, built.artifact, host, devices, resources, cached=built.cached)


def prepare(
    graph: Graph | GraphBuilder,
    target: object = DEFAULT_TARGET,
    *,
    dims: Mapping[str, int] | None = None,
    schedule: object = None,
    ir: IrOptions | None = None,
    passes: Mapping[str, Sequence[Pass | str]] | None = None,
    **options: Any,
) -> Compilation:
    """A compilation of `graph` that has run nothing yet. Raises UserError."""
    plain = graph.graph if isinstance(graph, GraphBuilder) else graph
    if not isinstance(plain, Graph):
        raise UserError(f"xtc.compile takes a graph, not {type(graph).__name__}")
    assignment = assignment_of(plain.bind(dims), target, options)
    tuned = isinstance(schedule, str) and schedule == TUNED
    if tuned:
        schedule = tuned_schedule(assignment.graph, assignment.target, assignment.options)
    texts = schedule_texts(assignment.graph, schedule, trusted=not tuned)
    return Compilation(
        assignment.graph,
        assignment.target,
        assignment.options,
        (ir or IrOptions()).runner(),
        texts,
        assignment.devices,
        steps_by_stage(passes),
    )


def _runtimes(
    target: object, compilation: Compilation, resources: ExitStack
) -> tuple[ProgramRuntime, dict[str, AcceleratorDevice]]:
    """What runs the program, and the devices: those that the user gave, the others opened here.

    `resources` closes what is opened.
    """
    if isinstance(target, ProgramRuntime):
        host = target
    else:
        host = resources.enter_context(compilation.target.runtime(compilation.options))
    live = live_devices(compilation.graph, target)
    devices = {}
    for name, code in compilation.devices.items():
        device = live.get(name)
        if device is None:
            device = resources.enter_context(code.target.runtime(code.options))
        devices[name] = accelerator(name, code.target.name, device)
    if isinstance(target, AcceleratorDevice):
        require_used([target], devices, f"graph '{compilation.graph.name}'")
    return host, devices


def _argument(tensor: Tensor, role: Any) -> Argument:
    place = str(tensor.placement) if tensor.placement else None
    return Argument(
        str(tensor.name), tensor.dtype, tensor.type.sizes, role, place, state=tensor.state
    )
