# SPDX-License-Identifier: Apache-2.0
"""Functions written in MLIR: their stages, and runs on sample data.

The function has the form of the stage `source`: it takes buffers and writes results with
`bufferization.materialize_in_destination`. It is untrusted: before it runs, in a child process, its
operations are checked to stay within their arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import UserError, did_you_mean
from xtc.core.types import ELEMENT_TYPES
from xtc.driver.arguments import aligned_empty
from xtc.evaluate import Comparison, Measurement, compare, measure, sample
from xtc.interfaces.artifact import Argument
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import BuildRequest, ProgramTarget
from xtc.ir.pipeline import PassRunner

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation, Value

Array = np.ndarray[Any, Any]
Call = Callable[[], None]

_WRITE = "bufferization.materialize_in_destination"
_DIALECTS = ("builtin", "func", "linalg", "arith", "math")
_OPERATIONS = (
    "tensor.empty",
    "tensor.extract",
    "scf.if",
    "scf.yield",
    "bufferization.to_tensor",
    "bufferization.alloc_tensor",
    _WRITE,
)
_STEPS = re.compile(r"\b(mod|floordiv|ceildiv)\b")


@dataclass(frozen=True)
class MlirFunction:
    """One function of `module`, to be compiled for `target` with `options`.

    Attributes:
        flops: arithmetic operations of one call; 0 if it is unknown.
        reduction: the largest number of terms in an element's sum.
    """

    module: Operation
    name: str
    arguments: tuple[Argument, ...]
    target: ProgramTarget
    options: Any
    flops: int = 0
    reduction: int = 1

    @property
    def request(self) -> BuildRequest:
        """The target's inputs besides the module."""
        return BuildRequest(self.name, self.arguments, {}, self.flops)

    def stage_text(self, stage: str, runner: PassRunner) -> str:
        """The IR of a stage, or the text of the generated code for "code"."""
        from xtc.ir.mlir import copied

        pipeline = self.target.pipeline(self.options)
        module = copied(self.module)
        runner.run(module, pipeline if stage == "code" else pipeline.until(stage))
        if stage == "code":
            return self.target.code(module, self.request, self.options)
        return str(module)

    def check(self, reference: MlirFunction, seed: int) -> list[Comparison]:
        """Compare this function's results with those of `reference` on the same arrays."""
        ours, theirs = ([*self.arrays(seed)] for _ in range(2))
        for function, arrays in ((self, ours), (reference, theirs)):
            with function.loaded(arrays) as (call, _):
                call()
        comparisons = [
            compare(ours[n], theirs[n], name=argument.name, reduction=self.reduction)
            for n, argument in enumerate(self.arguments)
            if argument.role == "output"
        ]
        for comparison in comparisons:
            comparison.raise_if_wrong()
        return comparisons

    def measure(self, seed: int, repeat: int) -> Measurement:
        """Time calls on sample data."""
        arrays = self.arrays(seed)
        dtype = self.arguments[0].dtype
        with self.loaded(arrays) as (call, runtime):
            return measure(
                call,
                flops=self.flops or None,
                bytes_moved=float(sum(array.nbytes for array in arrays)),
                dtype=dtype,
                repeat=repeat,
                peak=(lambda: runtime.peak_flops(dtype)) if self.flops else None,
                peak_again=lambda: runtime.remeasured_peak_flops(dtype),
            )

    def arrays(self, seed: int) -> list[Array]:
        """Sample arrays for all arguments, also for outputs: a function may accumulate."""
        if not self.arguments:
            raise UserError(f"function '{self.name}' takes no arrays, so it has no results")
        result = []
        for position, argument in enumerate(self.arguments):
            array = aligned_empty(argument.shape, argument.dtype)
            array[...] = sample(argument.shape, argument.dtype, seed + position)
            result.append(array)
        return result

    @contextmanager
    def loaded(self, arrays: list[Array]) -> Iterator[tuple[Call, CommonRuntimeInterface]]:
        """A call of the compiled function on these arrays, and its runtime, inside the block.

        Raises UserError for operations with unbounded memory accesses.
        """
        from xtc.ir.mlir import copied

        check_bounded(self.module)
        module = copied(self.module)
        PassRunner().run(module, self.target.pipeline(self.options))
        artifact = self.target.build_in_memory(module, self.request, self.options)
        with self.target.runtime(self.options) as runtime:
            loaded = runtime.load(artifact)
            try:
                yield loaded.bind([array.ctypes.data for array in arrays]), runtime
            finally:
                runtime.unload(loaded)


def find_function(module: Operation, name: str | None) -> Operation:
    """The function called `name`, or the only one. Raises UserError if it does not exist."""
    from xtc.ir.mlir import all_operations

    found = {name_of(op): op for op in all_operations(module) if op.name == "func.func"}
    defined = {key: op for key, op in found.items() if len(op.regions[0].blocks)}
    if name is None and len(defined) == 1:
        return next(iter(defined.values()))
    if name is None:
        raise UserError(
            f"the file has {len(defined)} functions", hints=["choose one: --function NAME"]
        )
    if name not in defined:
        raise UserError(f"the file has no function '{name}'", hints=did_you_mean(name, defined))
    return defined[name]


def arguments_of(function: Operation) -> tuple[Argument, ...]:
    """The arguments of a `source` stage function. Raises UserError for unsupported types.

    An argument that is both read and written is an output.
    """
    block = function.regions[0].blocks[0]
    written = [op.operation.operands[1] for op in block.operations if op.operation.name == _WRITE]
    return tuple(
        _argument(value, position, is_output=value in written)
        for position, value in enumerate(block.arguments)
    )


def _argument(value: Value, position: int, *, is_output: bool) -> Argument:
    from xtc.ir.mlir import MemRefType

    type, name = value.type, f"argument{position}"
    if not isinstance(type, MemRefType):
        raise UserError(f"{name} is {type}, not an array")
    names = {element.mlir: key for key, element in ELEMENT_TYPES.items() if element.signed}
    element = str(type.element_type)
    if element not in names:
        raise UserError(f"{name} has elements {element}", hints=did_you_mean(element, names))
    return Argument(name, names[element], tuple(type.shape), "output" if is_output else "input")


def check_bounded(module: Operation) -> None:
    """Raise UserError unless `module` accesses only its arrays, whatever their contents.

    MLIR verifies the accesses of linalg operations on arrays of known sizes, except for indices
    that wrap around, for which it checks only both ends. The indices of a `tensor.extract` in their
    bodies must be bounded by the loops and by the conditions of enclosing `scf.if` operations.
    """
    from xtc.ir.analysis.ranges import stays_inside
    from xtc.ir.mlir import all_operations

    for op in all_operations(module):
        dialect = op.name.partition(".")[0]
        known = dialect in _DIALECTS or op.name in _OPERATIONS
        if not known or op.name in ("func.call", "func.call_indirect"):
            raise UserError(
                f"{op.name} is not run: its memory accesses are unknown",
                hints=[f"write the function with {', '.join(_DIALECTS[2:])} and tensor.empty"],
            )
        if op.name == "tensor.extract" and not stays_inside(op):
            raise UserError(
                "tensor.extract is not run: its indices are not known to stay inside the tensor",
                hints=["compare them with both bounds in an scf.if around it"],
            )
        if "indexing_maps" in op.attributes and _STEPS.search(str(op.attributes["indexing_maps"])):
            raise UserError(f"{op.name} is not run: its indices wrap around")
        if op.name == "func.func" and not len(op.regions[0].blocks):
            raise UserError(f"function '{name_of(op)}' is not run: it has no body")


def name_of(function: Operation) -> str:
    """The function's symbol."""
    from xtc.ir.mlir import StringAttr

    return str(StringAttr(function.attributes["sym_name"]).value)
