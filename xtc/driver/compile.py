# SPDX-License-Identifier: Apache-2.0
"""The driver's main path: graph -> compilation -> artifact -> callable module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, overload

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.driver.assignment import assignment_of
from xtc.driver.buckets import BucketedModule, checked_buckets
from xtc.driver.cached import Built, build_or_fetch
from xtc.driver.compilation import Compilation
from xtc.driver.live_devices import accelerator, live_devices, require_used
from xtc.driver.module import Module
from xtc.driver.specialized import SpecializedModule, specialized
from xtc.driver.tuned import TUNED, tuned_schedule
from xtc.graph.builder import GraphBuilder
from xtc.graph.family import GraphFamily
from xtc.graph.fold_constants import fold_constants
from xtc.graph.graph import Graph
from xtc.graph.share_constants import share_constants
from xtc.interfaces.runtime import AcceleratorDevice, ProgramRuntime
from xtc.interfaces.target import DEFAULT_TARGET
from xtc.ir.pass_filter import PassFilter
from xtc.ir.pass_text import steps_by_stage
from xtc.ir.passes import Pass
from xtc.ir.pipeline import PassRunner, print_banner
from xtc.schedule import given_schedule
from xtc.system.workspace import private_folder


@dataclass(frozen=True)
class IrOptions:
    """What IR to show during compilation.

    Attributes:
        dump_dir: folder for the IR after every pass, one file per pass.
        print_after_all: print the IR after every pass on standard error.
        time_passes: record the wall time of every pass besides that of every stage.
        print_after: print the IR after the passes with these names.
        print_after_change: print only after passes that change the IR.
    """

    dump_dir: Path | None = None
    print_after_all: bool = False
    time_passes: bool = False
    print_after: tuple[str, ...] = ()
    print_after_change: bool = False

    def runner(self) -> PassRunner:
        """A pass runner with these options."""
        folder = self.dump_dir or knobs.DUMP_DIR.get()
        prints = self.print_after_all or self.print_after or self.print_after_change
        names = () if self.print_after_all else self.print_after
        return PassRunner(
            dump_dir=folder,
            print_after=print_banner if prints else None,
            time_passes=self.time_passes,
            printed=PassFilter(names, self.print_after_change),
        )


@overload
def compile(
    graph: Graph | GraphBuilder, target: object = DEFAULT_TARGET, **options: Any
) -> Module: ...


@overload
def compile(
    graph: GraphFamily, target: object = DEFAULT_TARGET, **options: Any
) -> Module | SpecializedModule: ...


def compile(
    graph: Graph | GraphBuilder | GraphFamily,
    target: object = DEFAULT_TARGET,
    *,
    dims: Mapping[str, int] | None = None,
    buckets: Mapping[str, Sequence[int]] | None = None,
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
) -> Module | SpecializedModule:
    """Compile a graph and load it as a callable module.

    Args:
        graph: a graph, the builder of `O.graph`, or a model from a file. A model with dynamic sizes
            is compiled for the sizes of each call.
        target: a target's name, or one of its devices, which then runs the code and stays open.
        dims: sizes of the graph's symbolic dimensions.
        buckets: sizes for a model's dynamic dimensions; calls are padded to them if that is exact.
        schedule: an `xtc.Schedule`, a mapping of loop nests by operator name, YAML text, or the
            Path of a YAML file; or "tuned" for the best schedule that `xtc-tune` found on this
            machine. Other operators get the target's default schedule.
        dump_dir: folder for the IR after every pass.
        print_ir_after_all: print the IR after every pass on standard error.
        print_ir_after: print the IR after the passes with these names.
        print_ir_after_change: of the passes to print after, only those that change the IR.
        passes: passes to run at the end of a stage, by its name: instances of `Pass`, or text as
            for xtc-opt, `"canonicalize"` or `"my-pass{size=4}"`.
        time_passes: record each pass's time in `module.compile_seconds`.
        in_memory: load the objects without linking, for searches; not cached.
        cache: use the artifact cache. Dumping, printing or timing the IR bypasses it.
        options: options of the target, such as `cpu="skylake-avx512"` on the host.

    Raises:
        UserError: an argument, the graph or the schedule is invalid.
        CompileError: a pass or the code generator failed; includes a reproducer.
        DeviceNotFound: this processor cannot run the program. If only a device of its kernels is
            missing, the module is built, and calls of it raise this error.
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
        return _of_family(graph, dims or {}, buckets or {}, build)
    if buckets:
        raise UserError("buckets are for models with dynamic dimensions, and this is a graph")
    return _load(graph, target, {"dims": dims, **request}, in_memory=in_memory, cache=cache)


def _of_family(
    family: GraphFamily,
    dims: Mapping[str, int],
    buckets: Mapping[str, Sequence[int]],
    build: Callable[[Graph], Module],
) -> SpecializedModule:
    """A module that specializes for the sizes of calls, or for buckets."""
    if buckets:
        return BucketedModule(family, dims, build, checked_buckets(family, buckets))
    return specialized(family, dims, build)


def _load(
    graph: Graph | GraphBuilder,
    target: object,
    request: Mapping[str, Any],
    *,
    in_memory: bool,
    cache: bool,
) -> Module:
    """Prepare, compile and load a graph."""
    compilation = prepare(graph, target, **request)
    with ExitStack() as resources:
        host, devices = _runtimes(target, compilation, resources)
        if in_memory:
            built = Built(compilation.build(None), cached=False)
        else:
            folder = Path(resources.enter_context(private_folder("module-")))
            built = build_or_fetch(compilation, folder, cache)
        return Module(
            *(compilation, built.artifact, host, devices, resources),
            cached=built.cached,
            cache=cache and not in_memory,
        )


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
    """A compilation of `graph` before any stage has run. Raises UserError."""
    plain = graph.graph if isinstance(graph, GraphBuilder) else graph
    if not isinstance(plain, Graph):
        raise UserError(f"xtc.compile takes a graph, not {type(graph).__name__}")
    assignment = assignment_of(plain.bind(dims), target, options)
    tuned = isinstance(schedule, str) and schedule == TUNED
    if tuned:
        schedule = tuned_schedule(assignment.graph, assignment.target, assignment.options)
    given = given_schedule(assignment.graph, schedule, trusted=not tuned)
    texts = given.texts()
    return Compilation(
        share_constants(fold_constants(assignment.graph, kept=texts)),
        assignment.target,
        assignment.options,
        (ir or IrOptions()).runner(),
        texts,
        assignment.devices,
        steps_by_stage(passes),
        given.notes(),
    )


def _runtimes(
    target: object, compilation: Compilation, resources: ExitStack
) -> tuple[ProgramRuntime, dict[str, AcceleratorDevice]]:
    """The program's runtime and the devices: those of the user, others opened here.

    `resources` closes the opened ones.
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
