# SPDX-License-Identifier: Apache-2.0
"""A compiled graph: call it, check it, measure it, look at it, save it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import UserError
from xtc.driver.arguments import bind_arguments, output_arrays
from xtc.driver.trust import check_trusted, protect
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import CommonRuntimeInterface

if TYPE_CHECKING:
    from xtc.driver.compile import Compilation
    from xtc.evaluate import Comparison, Measurement
    from xtc.graph.graph import Graph

Array = np.ndarray[Any, Any]


class Module:
    """A function on arrays; a context manager.

    `module(a, b)` takes the graph's inputs by position or name and returns its outputs as new
    arrays (one, or a tuple), or writes them to `out=`.

    Attributes:
        artifact: the files or objects, with their manifest.
        runtime: what runs them.
        cached: whether the artefact was built before and comes from the cache.
    """

    def __init__(
        self,
        compilation: Compilation | None,
        artifact: Artifact,
        runtime: CommonRuntimeInterface,
        folder: tempfile.TemporaryDirectory[str] | None = None,
        *,
        cached: bool = False,
    ) -> None:
        self._compilation = compilation
        self._folder = folder
        self.artifact = artifact
        self.runtime = runtime
        self.cached = cached
        self._loaded = runtime.load(artifact)

    @property
    def name(self) -> str:
        """The name of the compiled function."""
        return self.artifact.manifest.entry

    @property
    def compile_seconds(self) -> dict[str, float]:
        """Wall time of the compilation in seconds: by stage, and by pass where asked for.

        "cache" is what the cache took, all there is for a module that comes from it; empty for one
        that was loaded.
        """
        return dict(self._compilation.runner.seconds) if self._compilation else {}

    @property
    def graph(self) -> Graph:
        """The graph with its dimensions fixed. Raises UserError for a module that was loaded."""
        if self._compilation is None:
            raise UserError(
                f"module '{self.name}' was loaded from files, which do not hold its graph",
                hints=["save the graph as well: graph.save(path)"],
            )
        return self._compilation.graph

    def __call__(self, *args: Any, out: Any = None, **arrays: Any) -> Any:
        """Run on arrays. Raises UserError where they do not fit the graph's inputs."""
        inputs = bind_arguments(self.artifact.manifest, args, arrays)
        outputs = output_arrays(self.artifact.manifest, out, inputs)
        self._bound(inputs, outputs)()
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
        """Compare with the graph's NumPy meaning in float64, on the arrays given or on samples.

        Returns one comparison per output. Raises MismatchError naming the worst element.
        """
        from xtc.evaluate import compare

        inputs = self._inputs(args, arrays, seed)
        expected = self.graph.evaluate(*inputs, precise=True)
        outputs = output_arrays(self.artifact.manifest, None, inputs)
        self._bound(inputs, outputs)()
        by_name = expected if isinstance(expected, dict) else {self._output_names[0]: expected}
        comparisons = [
            compare(
                actual,
                by_name[name],
                rtol=rtol,
                atol=atol,
                name=name,
                reduction=self.graph.reduction_size,
            )
            for name, actual in zip(self._output_names, outputs, strict=True)
        ]
        for comparison in comparisons:
            comparison.raise_if_wrong()
        return comparisons

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
        """Time calls on the arrays given or on samples; argument checks are not in the time.

        Args:
            repeat: how many samples.
            number: calls per sample; None chooses it so that a sample lasts `min_repeat_ms`.
            min_repeat_ms: shortest sample in milliseconds.
            counters: hardware counters to read, see `xtc.evaluate.available_counters()`.
            seed: of the samples.
        """
        from xtc.evaluate import measure

        inputs = self._inputs(args, arrays, seed)
        outputs = output_arrays(self.artifact.manifest, None, inputs)
        manifest = self.artifact.manifest
        dtype = manifest.inputs[0].dtype if manifest.inputs else manifest.outputs[0].dtype
        return measure(
            self._bound(inputs, outputs),
            flops=manifest.flops or None,
            bytes_moved=float(sum(array.nbytes for array in (*inputs, *outputs))),
            dtype=dtype,
            repeat=repeat,
            number=number,
            min_repeat_ms=min_repeat_ms,
            counters=counters,
            peak=lambda: self.runtime.peak_flops(dtype),
        )

    def ir(self, stage: str = "source") -> str:
        """The IR of a stage, or the generated code's text for "code"."""
        if self._compilation is None:
            raise UserError(f"module '{self.name}' was loaded from files, which do not hold its IR")
        return self._compilation.stage_text(stage)

    def save(self, folder: str | Path) -> None:
        """Copy the artefact to a new folder, whole or not at all; `xtc.load` reads it."""
        source = self.artifact.folder
        if source is None:
            raise UserError(
                f"module '{self.name}' is in memory only", hints=["compile without in_memory=True"]
            )
        target = Path(folder)
        if target.exists():
            raise UserError(f"{target} exists", hints=["choose another folder, or remove it"])
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as temporary:
            copy = Path(temporary, target.name)
            shutil.copytree(source, copy)
            protect(copy)
            copy.rename(target)

    def close(self) -> None:
        """Unload the code and remove its temporary files; a call afterwards raises UserError."""
        self.runtime.unload(self._loaded)
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Module:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{a.name}: {'x'.join(map(str, (*a.shape, a.dtype)))}"
            for a in self.artifact.manifest.arguments
        )
        return f"<xtc.Module {self.name}({arguments}) on {self.runtime.device_name}>"

    @property
    def _output_names(self) -> list[str]:
        return [argument.name for argument in self.artifact.manifest.outputs]

    def _inputs(self, args: Sequence[Any], arrays: dict[str, Any], seed: int) -> list[Array]:
        from xtc.evaluate import sample

        manifest = self.artifact.manifest
        if args or arrays or not manifest.inputs:
            return bind_arguments(manifest, args, arrays)
        return [
            sample(argument.shape, argument.dtype, seed + position)
            for position, argument in enumerate(manifest.inputs)
        ]

    def _bound(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], None]:
        """A call on these arrays, which it keeps alive."""
        arrays = (*inputs, *outputs)
        call = self._loaded.bind([array.ctypes.data for array in arrays])

        def run(_alive: object = arrays) -> None:
            call()

        return run


def load(folder: str | Path, *, trust: bool = False) -> Module:
    """The module that `Module.save` wrote; its code runs in this process.

    Raises UserError where another user could have written it, unless `trust` says that this is no
    danger, and ArtifactError where a file is not what its manifest says.
    """
    from xtc.core import discover

    if not trust:
        check_trusted(Path(folder))
    artifact = Artifact.read(Path(folder))
    target = discover.target(artifact.manifest.target)
    return Module(None, artifact, target.runtime(target.options()))
