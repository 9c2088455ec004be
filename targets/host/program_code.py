# SPDX-License-Identifier: Apache-2.0
"""The code of a program's parts, generated while other parts are still lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from xtc.interfaces.target import PartsCode
from xtc.ir.llvm_units import declaration_of, is_defined, show_to_units
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.program_parts import shown_functions, take_parts
from xtc.system.cores import usable_cores
from xtc_targets.host import pool_library

if TYPE_CHECKING:
    from types import TracebackType

    from xtc.ir.mlir import Operation

_EXTERNAL = "#llvm.linkage<external>"

Generate = Callable[[str], bytes]
"""An object file of LLVM IR text."""


class ProgramCode(PartsCode):
    """Parts of a program, each compiled to an object file by a thread once the part is lowered.

    The thread that lowers parts keeps one core busy, so that the pool has one thread less than
    there are cores. At the end, the calling thread compiles the parts that no thread has started.
    """

    def __init__(self, generate: Generate) -> None:
        self.has_parallel_loops = False
        self._generate = generate
        self._shown: frozenset[str] = frozenset()
        self._defined: set[str] = set()
        self._started: list[tuple[str, Future[bytes]]] = []
        self._cores = ThreadPoolExecutor(max(usable_cores() - 1, 1), "codegen")

    def take(self, module: Operation, entry: str) -> Sequence[Operation]:
        return take_parts(module, entry)

    def start(self, lowered: Operation) -> None:
        from xtc.ir.llvm_ir import translate_to_llvm_ir

        for name in shown_functions(lowered):
            show_to_units(_functions(lowered)[name])
        self.has_parallel_loops |= pool_library.has_parallel_loops(lowered)
        self.define_once(lowered)
        text = translate_to_llvm_ir(lowered)
        self._started.append((text, self._cores.submit(self._generate, text)))

    def define_once(self, lowered: Operation) -> None:
        """Replace definitions of global symbols that an earlier part has by declarations."""
        from xtc.ir.mlir import InsertionPoint

        for op in top_level(lowered):
            if "linkage" not in op.attributes or str(op.attributes["linkage"]) != _EXTERNAL:
                continue
            if symbol_of(op) in self._defined and is_defined(op):
                with op.context, op.location, InsertionPoint(op):
                    declaration_of(op)
                op.erase()
            elif is_defined(op):
                self._defined.add(symbol_of(op))

    def objects(self, others: Sequence[str]) -> list[bytes]:
        """The objects of `others`, one or more LLVM IR texts, followed by those of the parts."""
        started = [(text, self._cores.submit(self._generate, text)) for text in others[1:]]
        started += self._started
        found = [self._generate(others[0])]
        created = {
            number: self._generate(text)
            for number, (text, future) in reversed(list(enumerate(started)))
            if future.cancel()
        }
        for number, (_, future) in enumerate(started):
            found.append(created[number] if number in created else future.result())
        return found

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cores.shutdown(cancel_futures=True)


def _functions(module: Operation) -> dict[str, Operation]:
    return {symbol_of(op): op for op in top_level(module) if op.name == "llvm.func"}
