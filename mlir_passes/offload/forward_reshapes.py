# SPDX-License-Identifier: Apache-2.0
"""forward-reshapes: replaces device functions that only reshape by views on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import is_allocation
from xtc.ir.analysis.views import is_reshape, root
from xtc.ir.mlir import (
    Block,
    InsertionPoint,
    Operation,
    Value,
    all_operations,
)
from xtc.ir.partition import device_of, symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._device_functions import (
    Results,
    callee,
    device_results,
    result_count,
    written_by,
)


@dataclass(frozen=True)
class ForwardReshapes(Pass):
    """Replace results of device functions that only reshape by views of their arguments.

    Before:
        func.func private @f(%a: memref<2x4xf32>, %r: memref<8xf32>) attributes {xtc.device = ...} {
          %v = memref.collapse_shape %a [[0, 1]]
          memref.copy %v, %r
        }
        call @f(%x, %y) ; linalg.exp ins(%y)
    After:
        %y = memref.collapse_shape %x [[0, 1]]
        linalg.exp ins(%y)

    A reshape needs no data movement. The call stays if its result is a result of the program, or if
    the argument or the result is written again later.
    """

    name: ClassVar[str] = "forward-reshapes"

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "func.func"]
        results = device_results(module)
        kernels = {symbol_of(op): op for op in functions if device_of(op) and _only_reshapes(op)}
        host = [op for op in functions if device_of(op) is None and op.regions[0].blocks]
        with module.context:
            for function in host:
                _Calls(function.regions[0].blocks[0], results, kernels).forward()
        for symbol, kernel in kernels.items():
            if not _is_called(host, symbol):
                kernel.erase()


def _only_reshapes(function: Operation) -> bool:
    """Whether each result is a whole argument, possibly reshaped."""
    if not function.regions[0].blocks:
        return False
    block = function.regions[0].blocks[0]
    results = list(block.arguments)[-result_count(function) :]
    copies = [op.operation for op in block.operations if op.operation.name == "memref.copy"]
    written = [copy.operands[1] for copy in copies]
    return (
        all(
            op.operation.name in ("memref.copy", "func.return") or is_reshape(op.operation)
            for op in block.operations
        )
        and set(written) == set(results)
        and len(written) == len(results)
        and all(_is_argument(root(copy.operands[0])) for copy in copies)
        and not {root(copy.operands[0]) for copy in copies} & set(results)
    )


def _is_argument(value: Value) -> bool:
    return isinstance(value.owner, Block)


@dataclass
class _Calls:
    """The calls of device functions in one block of a host function."""

    block: Block
    results: Results
    kernels: dict[str, Operation]

    def forward(self) -> None:
        for call in [op.operation for op in self.block.operations]:
            kernel = self.kernels.get(callee(call) or "")
            if kernel is not None and self._is_for_good(call):
                with call.location:
                    _forward(call, kernel)

    def _is_for_good(self, call: Operation) -> bool:
        """Whether the results are unused before the call, and no operand is written after it."""
        operations = [op.operation for op in self.block.operations]
        position = operations.index(call)
        before, after = operations[:position], operations[position + 1 :]
        results = written_by(call, self.results)
        if any(_is_argument(value) for value in results):
            return False
        used = {value for op in before for inner in all_operations(op) for value in inner.operands}
        if used & set(results) or not all(is_allocation(r.owner.operation) for r in results):
            return False
        fixed = {root(value) for value in call.operands}
        return not any(
            root(value) in fixed for op in after for value in written_by(op, self.results)
        )


def _forward(call: Operation, kernel: Operation) -> None:
    """Let the readers of the call's results read views of its arguments."""
    block = kernel.regions[0].blocks[0]
    given = dict(zip(block.arguments, call.operands, strict=True))
    ip = InsertionPoint(call)
    for op in [op.operation for op in block.operations]:
        if is_reshape(op):
            view = op.clone(ip=ip)
            view.operands[0] = given[op.operands[0]]
            given[op.results[0]] = view.results[0]
        elif op.name == "memref.copy":
            source, result = op.operands
            given[result].replace_all_uses_except(given[source], call)
    call.erase()


def _is_called(functions: Sequence[Operation], symbol: str) -> bool:
    return any(callee(op) == symbol for function in functions for op in all_operations(function))
