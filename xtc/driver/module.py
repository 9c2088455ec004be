# SPDX-License-Identifier: Apache-2.0
"""Compiled modules: call, check, measure, inspect and save them."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.closing import Closing
from xtc.core.errors import ArtifactError, UserError
from xtc.driver.absent import RecordingModule
from xtc.driver.argument_memory import argument_addresses
from xtc.driver.arguments import (
    bind_arguments,
    check_states,
    empty_outputs,
    host_arrays,
    output_arrays,
)
from xtc.driver.default_schedules import schedule_in_use
from xtc.driver.device_counters import count, device_of
from xtc.driver.direct_arguments import DirectArguments
from xtc.driver.folders import new_folder, separate_copy
from xtc.driver.in_flight_calls import InFlightCalls
from xtc.driver.live_devices import by_name, device_targets, devices_of, require_used
from xtc.driver.offloaded import load_artifact
from xtc.driver.result_memory import ResultMemory
from xtc.driver.states import FILE as STATES
from xtc.driver.states import States
from xtc.driver.trust import check_trusted
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import AcceleratorDevice, CommonRuntimeInterface, ProgramRuntime
from xtc.interfaces.target import ProgramTarget
from xtc.ir.pipeline import PassRunner
from xtc.runtime import DeviceArray

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation
    from xtc.evaluate import Comparison, Measurement
    from xtc.evaluate.profile import Profile
    from xtc.graph.graph import Graph
    from xtc.schedule import Schedule

Array = np.ndarray[Any, Any]


class Module(Closing):
    """A compiled function on arrays; a context manager.

    `module(a, b)` takes the graph's inputs by position or name. It returns the outputs as new
    arrays (one, or a tuple), or writes them to `out=`. Memory of released results is reused.

    Attributes:
        artifact: the files or objects, with their manifest.
        host: the runtime of the program.
        devices: the devices that run its kernels, by their names in the graph.
        compile_seconds: wall time in seconds by stage, and by "stage/pass" with `time_passes`;
            "cache" is the time of the cache, the only entry of a cached module; empty for a
            module from `load`.
        cached: whether the artifact comes from the cache.
        state: the module's states: arrays by name, which calls update.
    """

    def __init__(
        self,
        compilation: Compilation | None,
        artifact: Artifact,
        host: ProgramRuntime,
        devices: Mapping[str, AcceleratorDevice],
        resources: ExitStack,
        *,
        cached: bool = False,
        cache: bool = True,
    ) -> None:
        """Load `artifact`; takes ownership of `resources`, which `close` releases.

        `cache` is whether later builds for this module may use the cache.
        """
        self._compilation = compilation
        self._cache = cache
        self.artifact = artifact
        self.host = host
        self.devices = devices
        self.cached = cached
        self.compile_seconds = dict(compilation.runner.seconds) if compilation else {}
        self._loaded, unload = load_artifact(artifact, host, devices)
        # For modules that are never closed; a result may keep the opened device alive.
        resources.callback(weakref.finalize(self, unload))
        self._results = ResultMemory(artifact.manifest)
        resources.callback(self._results.close)
        self._resources = resources.pop_all()
        self._direct = DirectArguments.of(artifact.manifest)
        self._calls = InFlightCalls(f"module '{self.name}'")
        self.state = States(artifact.manifest, compilation.initial_states() if compilation else {})
        self._states_in_use = RLock()  # serializes calls that update states

    @property
    def name(self) -> str:
        """The name of the compiled function."""
        return self.artifact.manifest.entry

    @property
    def runtime(self) -> CommonRuntimeInterface:
        """The only device, or the program's runtime if there are none or several."""
        return next(iter(self.devices.values())) if len(self.devices) == 1 else self.host

    @property
    def graph(self) -> Graph:
        """The graph with its dimensions fixed. Raises UserError for a module from `load`."""
        if self._compilation is None:
            raise self._no_graph()
        return self._compilation.graph

    @property
    def schedule(self) -> Schedule:
        """The schedules of this module. Raises UserError for a module from `load`."""
        if self._compilation is None:
            raise self._no_graph()
        return schedule_in_use(self._compilation)

    def _no_graph(self) -> UserError:
        return UserError(
            f"module '{self.name}' was loaded from files, which do not contain its graph",
            hints=["save the graph as well: graph.save(path)"],
        )

    def __call__(self, *args: Any, out: Any = None, **arrays: Any) -> Any:
        """Run on arrays. Raises UserError if they do not fit the graph's inputs.

        Arguments and results on a device are device arrays: `device.array(values)` creates one,
        `result.numpy()` copies one to the host. A call updates states in place: the module's own,
        or an array passed by the name of a state. Concurrent calls that update the module's states
        are serialized.
        """
        self._calls.require_open()
        if self._direct is not None and not arrays:
            outputs = self._call_directly(self._direct, args, out)
            if outputs is not None:
                return outputs
        if all(name in arrays for name in self.state):
            return self._call(args, out, arrays)
        with self._states_in_use:
            return self._call(args, out, arrays)

    def _call_directly(self, direct: DirectArguments, args: Sequence[Any], out: Any) -> Any:
        """Run on arrays as they are; None if one of them has to be converted or refused."""
        inputs = direct.inputs(args)
        if inputs is None:
            return None
        results = direct.new_outputs(self._results.empty) if out is None else out
        outputs = direct.outputs(results, inputs)
        if outputs is None:
            return None
        with self._calls:
            self._loaded.bind((*inputs, *outputs))()
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _call(self, args: Sequence[Any], out: Any, arrays: Mapping[str, Any]) -> Any:
        named = {**arrays, **self.state.of_call(arrays)} if self.state else arrays
        inputs = bind_arguments(self.artifact.manifest, args, named, self.devices)
        if self.state and arrays:
            check_states(self.artifact.manifest, inputs, arrays)
        with ExitStack() as undo:
            manifest, new = self.artifact.manifest, self._results.empty
            outputs = output_arrays(manifest, out, inputs, self.devices, undo, new)
            with self._bound(inputs, outputs) as call:
                call()
            undo.pop_all()
        if out is not None:
            return out
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def check(
        self,
        *args: Any,
        rtol: float | None = None,
        atol: float | None = None,
        seed: int = 0,
        **arrays: Any,
    ) -> list[Comparison]:
        """Compare with the graph's NumPy reference in float64, on the arrays given or on samples.

        If the graph has long float sums, a second run uses samples of one sign, because only
        growing sums expose inaccurate summation orders. Kernels on a single simulator run again in
        random order, with delayed transfers and race detection. Returns a comparison for each
        output of the first run and for each state after it; the module's own states are unchanged.
        Raises MismatchError with the worst element, and DeviceFault.
        """
        from xtc.driver import checking

        self._calls.require_open()
        inputs = self._inputs(args, arrays, seed)
        roundoff = 0.0 if self._compilation is None else self._compilation.roundoff
        manifest, graph = self.artifact.manifest, self.graph

        def check(inputs: Sequence[Array], *more: Callable[..., None]) -> list[Comparison]:
            runs = [self._run, *more]
            return checking.compared(
                graph, manifest, inputs, runs, roundoff=roundoff, rtol=rtol, atol=atol
            )

        with self._adversarial() as modules:
            comparisons = check(inputs, *(module._run for module in modules))
        if not args and not arrays and checking.sums_at_length(graph, inputs):
            check(checking.samples(manifest, seed, of_one_sign=True))
        return comparisons

    @contextmanager
    def _adversarial(self) -> Iterator[list[Module]]:
        """This module on a simulator with adversarial timing; empty for several devices."""
        found = {name: device.adversarial_simulator() for name, device in self.devices.items()}
        if len(found) != 1 or not any(found.values()):
            yield []
            return
        with ExitStack() as resources:
            devices = dict(self.devices)
            for name, device in found.items():
                if device is not None:
                    devices[name] = resources.enter_context(device)
            copy = self._checked_artifact(found, resources)
            with Module(self._compilation, copy, self.host, devices, resources) as module:
                yield [module]

    def _checked_artifact(self, watched: Collection[str], resources: ExitStack) -> Artifact:
        """This artifact, rebuilt with simulator checks in its code if the target has them."""
        from xtc.driver.checking import checked_artifact

        checked = None
        if self._compilation is not None:
            checked = checked_artifact(self._compilation, watched, resources)
        return checked or separate_copy(self.artifact, resources)

    def _run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        with self._bound(inputs, outputs) as call:
            call()

    def measure(
        self,
        *args: Any,
        repeat: int = 10,
        number: int | None = None,
        min_repeat_ms: float = 0,
        counters: Sequence[str] = (),
        seed: int = 0,
        **arrays: Any,
    ) -> Measurement:
        """Time calls on the arrays given or on samples.

        Argument checks and transfers of device arguments are not timed.

        Args:
            repeat: the number of samples.
            number: calls per sample; None chooses it so that a sample lasts `min_repeat_ms`.
            min_repeat_ms: the shortest sample in milliseconds.
            counters: hardware counters to read per call: names from
                `xtc.evaluate.available_counters()`, raw events such as `r01c2`, libpfm4 names, and
                counters of the module's devices such as `nvgpu.BYTES`.
            seed: the seed of the samples.
        """
        from xtc.evaluate import measure

        self._calls.require_open()
        inputs = self._inputs(args, arrays, seed)
        outputs = empty_outputs(self.artifact.manifest)
        manifest = self.artifact.manifest
        dtype = manifest.inputs[0].dtype if manifest.inputs else manifest.outputs[0].dtype
        # The wall time of a simulator is meaningless and gives no rate.
        real = not self._models()
        flops = manifest.flops if real else 0
        nbytes = float(sum(array.nbytes for array in (*inputs, *outputs)))
        devices = list(self.devices.values())
        own = [name for name in counters if device_of(name, devices) is not None]
        with self._bound(inputs, outputs) as call:
            found = measure(
                call,
                flops=flops or None,
                bytes_moved=nbytes if real else None,
                dtype=dtype,
                repeat=repeat,
                number=number,
                min_repeat_ms=min_repeat_ms,
                counters=[name for name in counters if name not in own],
                peak=(lambda: self.runtime.peak_flops(dtype)) if flops else None,
                peak_again=lambda: self.runtime.remeasured_peak_flops(dtype),
                modelled=self._modelled(call),
            )
            counted = count(call, own, devices)
        return replace(found, counters={**found.counters, **counted})

    def profile(self, *args: Any, repeat: int = 20, seed: int = 0, **arrays: Any) -> Profile:
        """Profile calls by operator, on the arrays given or on samples.

        The program is compiled again with each operator as a function that reads the clock at its
        end; `repeat` calls of it alternate with calls of this module. On devices, each command is
        run alone and timed; times of simulators are modelled. Raises UserError for a module from
        `load`, and if the target records no times.
        """
        from xtc.driver import device_profiling, profiling

        self._calls.require_open()
        if self._compilation is None:
            raise self._no_graph()
        inputs = self._inputs(args, arrays, seed)
        outputs = empty_outputs(self.artifact.manifest)
        with self._addresses(inputs, outputs) as addresses:
            call = self._loaded.bind(addresses)
            if not isinstance(self._loaded, RecordingModule):
                given = (*inputs, *outputs)
                return profiling.profile(self._compilation, call, given, repeat, cache=self._cache)
            record = self._loaded.record(addresses)
            kernels = self.artifact.manifest.offload.kernels
            return device_profiling.profile_devices(
                self._compilation, kernels, self.devices, call, record, repeat
            )

    def ir(self, stage: str = "source") -> str:
        """The IR of a stage, or the generated code's text for "code"."""
        if self._compilation is None:
            raise UserError(
                f"module '{self.name}' was loaded from files, which do not contain its IR"
            )
        return replace(self._compilation, runner=PassRunner()).stage_text(stage)

    def save(self, folder: str | Path) -> None:
        """Copy the artifact and its states to a new folder, atomically; see `xtc.load`."""
        source = self.artifact.folder
        if source is None:
            raise UserError(
                f"module '{self.name}' is in memory only", hints=["compile without in_memory=True"]
            )
        with new_folder(Path(folder)) as copy:
            shutil.copytree(source, copy, dirs_exist_ok=True)
            if self.state:
                self.state.save(copy / STATES)

    def close(self) -> None:
        """Release the code, temporary files and devices opened for this module.

        Waits for in-flight calls in other threads. Later calls raise UserError; closing twice is
        allowed.
        """
        self._calls.close()
        self._resources.close()

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{a.name}: {'x'.join(map(str, (*a.shape, a.dtype)))}"
            for a in self.artifact.manifest.arguments
        )
        return f"<xtc.Module {self.name}({arguments}) on {self.runtime.device_name}>"

    def _inputs(self, args: Sequence[Any], arrays: dict[str, Any], seed: int) -> list[Array]:
        from xtc.driver import checking

        manifest = self.artifact.manifest
        if args or arrays or not manifest.inputs:
            copies = {name: array.copy() for name, array in self.state.items()}
            return host_arrays(manifest, args, {**copies, **arrays})
        return checking.samples(manifest, seed)

    def _modelled(self, call: Callable[[], None]) -> dict[str, float]:
        """Modelled figures of one call, by runtime if there are several."""
        modelled = self._models()
        if not modelled:
            return {}
        before = {name: device.modelled_figures() for name, device in modelled.items()}
        call()
        return {
            f"{name}.{figure}" if len(modelled) > 1 else figure: value - before[name][figure]
            for name, device in modelled.items()
            for figure, value in device.modelled_figures().items()
        }

    def _models(self) -> dict[str, CommonRuntimeInterface]:
        """The simulators among the program's runtime and its devices."""
        runtimes = {self.host.device_name: self.host, **self.devices}
        return {name: runtime for name, runtime in runtimes.items() if runtime.is_modelled}

    @contextmanager
    def _bound(
        self, inputs: Sequence[Array | DeviceArray], outputs: Sequence[Array | DeviceArray]
    ) -> Iterator[Callable[[], None]]:
        """A reusable call on these arrays, valid inside the block."""
        with self._addresses(inputs, outputs) as addresses:
            yield self._loaded.bind(addresses)

    @contextmanager
    def _addresses(
        self, inputs: Sequence[Array | DeviceArray], outputs: Sequence[Array | DeviceArray]
    ) -> Iterator[Sequence[int]]:
        """The addresses of these arrays in the memories that the program expects."""
        arrays = (*inputs, *outputs)
        passed = argument_addresses(self.artifact.manifest, self.devices, arrays)
        with self._calls, passed as addresses:
            yield addresses


def load(folder: str | Path, *devices: CommonRuntimeInterface, trust: bool = False) -> Module:
    """Load a module that `Module.save` wrote; a host program runs in this process.

    `devices` are the live devices for its kernels and arguments, matched by name, or the board of a
    bare-metal program; missing ones are opened. Raises UserError if another user could have written
    the files, unless `trust` is set, and ArtifactError for a modified file.
    """
    from xtc.core import discover

    if not trust:
        check_trusted(Path(folder))
    artifact = Artifact.read(Path(folder))
    with ExitStack() as resources:
        target = discover.target(artifact.manifest.target)
        if not isinstance(target, ProgramTarget):
            raise ArtifactError(f"'{target.name}' does not run programs", where=artifact.folder)
        boards = [device for device in devices if isinstance(device, ProgramRuntime)]
        devices = tuple(device for device in devices if device not in boards)
        host = _program_runtime(artifact, boards)
        if host is None:
            host = resources.enter_context(target.runtime(target.options()))
        given = devices_of(artifact.manifest, by_name(devices))
        for name, kind in device_targets(artifact.manifest).items():
            if name not in given:
                opened = discover.target(kind)
                given[name] = resources.enter_context(opened.runtime(opened.options()))
        require_used(devices, given, f"'{artifact.manifest.entry}'")
        module = Module(None, artifact, host, given, resources)
        if module.state and (Path(folder) / STATES).exists():
            module.state.load(Path(folder) / STATES)
            module.state.begin_as_they_are()
        return module


def _program_runtime(
    artifact: Artifact, runtimes: Sequence[ProgramRuntime]
) -> ProgramRuntime | None:
    """The given runtime for the program. Raises UserError if it is unusable."""
    target = artifact.manifest.target
    for runtime in runtimes:
        if runtime.target_name != target or len(runtimes) > 1:
            raise UserError(
                f"'{artifact.manifest.entry}' cannot run on {runtime.device_name}",
                notes=[f"it is a program for {target}", "a program runs on a single runtime"],
            )
    return runtimes[0] if runtimes else None
