# SPDX-License-Identifier: Apache-2.0
"""check-accesses: reports the loads and stores of threads to the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.builders.functions import declare
from xtc.ir.builders.llvm import advanced, call, constant, plain_address, stored_bytes
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    Operation,
    all_operations,
)
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass

_READ, _WRITE, _ATOMIC = "cuda_read", "cuda_write", "cuda_atomic"
_CALLED = (_READ, _WRITE, _ATOMIC)
_ACQUIRE, _RELEASE = "cuda_acquire", "cuda_release"
_ACQUIRING, _RELEASING = (4, 6, 7), (5, 6, 7)
"""MLIR's numbers of acquire, acq_rel and seq_cst, and of release, acq_rel and seq_cst."""
_DECLARATIONS = "\n".join(
    (
        *(f"llvm.func @{name}(!llvm.ptr, i32)" for name in (*_CALLED, _RELEASE)),
        f"llvm.func @{_ACQUIRE}(!llvm.ptr)",
    )
)
_COMBINING = ("llvm.atomicrmw", "llvm.cmpxchg")
_MEMORIES = ("!llvm.ptr<1>", "!llvm.ptr<3>")  # global and shared
_WIDEST = 16  # maximum bytes of an access
_ADDRESSES = (
    *("llvm.getelementptr", "llvm.addrspacecast", "llvm.ptrtoint", "llvm.call"),
    *("llvm.br", "llvm.cond_br", "llvm.select"),
)
"""Operations that compute or pass on addresses."""
_CHECKED = (
    *("nvvm.cp.async.shared.global", "nvvm.ldmatrix", "nvvm.stmatrix", "nvvm.mbarrier.init"),
    *("nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive.expect_tx"),
    *("nvvm.mbarrier.try_wait", "nvvm.mbarrier.try_wait.parity"),
    *("nvvm.cp.async.bulk.tensor.shared.cluster.global", "nvvm.wgmma.mma_async"),
    *("nvvm.cp.async.bulk.tensor.global.shared.cta", "nvvm.fence.proxy.acquire", "nvvm.mapa"),
)
"""Operations whose calls check the accesses."""


@dataclass(frozen=True)
class CheckAccesses(Pass):
    """Report every access to global and shared memory, as `csrc/cuda_sim.h` requires.

    Before:
        %v = llvm.load %p : !llvm.ptr<1> -> f32
    After:
        %a = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
        llvm.call @cuda_read(%a, 4) ; %v = llvm.load %p : !llvm.ptr<1> -> f32

    A vector counts as the accesses that its alignment allows; scalars are aligned to their size.
    """

    name: ClassVar[str] = "check-accesses"

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "llvm.func"]
        accesses = [
            op for function in functions for op in all_operations(function) if _is_access(op)
        ]
        with module.context:
            if accesses:
                declare(module, _DECLARATIONS)
            for op in accesses:
                with op.location:
                    _announce(op)


def _is_access(op: Operation) -> bool:
    pointers = [value for value in op.operands if str(value.type) in _MEMORIES]
    if not pointers or op.name in (*_ADDRESSES, *_CHECKED):
        return False
    if op.name not in ("llvm.load", "llvm.store", *_COMBINING):
        raise CompileError(
            f"{op.name} accesses device memory in a way that cannot be checked",
            where=str(op.location),
        )
    return True


def _is_atomic(op: Operation) -> bool:
    return op.name in _COMBINING or _ordering(op) != 0


def _ordering(op: Operation) -> int:
    """MLIR's number of an access's memory ordering; 0 if it has none."""
    name = "success_ordering" if op.name == "llvm.cmpxchg" else "ordering"
    return int(IntegerAttr(op.attributes[name]).value) if name in op.attributes else 0


def _announce(op: Operation) -> None:
    ip = InsertionPoint(op)
    if _is_atomic(op):
        pointer = op.operands[1 if op.name == "llvm.store" else 0]
        type = (
            op.operands[0 if op.name == "llvm.store" else 1].type
            if len(op.operands) > 1
            else (op.results[0].type)
        )
        width = constant(stored_bytes(type), ip)
        address, order = plain_address(pointer, ip), _ordering(op)
        call(_ATOMIC, [address, width], [], ip)
        if op.name != "llvm.store" and order in _ACQUIRING:
            call(_ACQUIRE, [address], [], ip)
        if op.name != "llvm.load" and order in _RELEASING:
            call(_RELEASE, [address, constant(int(op.name == "llvm.store"), ip)], [], ip)
        return
    reads = op.name == "llvm.load"
    pointer = op.operands[0 if reads else 1]
    nbytes = stored_bytes(op.results[0].type if reads else op.operands[0].type)
    each = min(nbytes, _alignment(op, nbytes), _WIDEST)
    base, width = plain_address(pointer, ip), constant(each, ip)
    for offset in range(0, nbytes, each):
        call(_READ if reads else _WRITE, [advanced(base, offset, ip), width], [], ip)


def _alignment(op: Operation, nbytes: int) -> int:
    if "alignment" in op.attributes:
        return int(IntegerAttr(op.attributes["alignment"]).value)
    return nbytes
