# SPDX-License-Identifier: Apache-2.0
"""Calls of `csrc/cuda_sim.h` for barriers, shuffles, tensor cores and copies to shared memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from xtc.core.errors import CompileError
from xtc.ir.builders.functions import declare as declare_functions
from xtc.ir.builders.llvm import advanced, call, constant, plain_address
from xtc.ir.mlir import (
    BoolAttr,
    DenseI32ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    Operation,
    Type,
    Value,
    all_operations,
)
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._kernels import BARRIER, SHUFFLE
from xtc_targets.nvgpu.passes._simulation.batch_calls import MMA, WORDS, Tables
from xtc_targets.nvgpu.passes._simulation.joined_barriers import BARRIER_AT, join_barriers
from xtc_targets.nvgpu.passes._simulation.shuffle_groups import shuffle_groups, shuffle_together
from xtc_targets.nvgpu.passes._simulation.warp_batches import MOST, batch
from xtc_targets.nvgpu.passes._simulation.warpgroup_calls import WGMMA, replace_multiplications
from xtc_targets.nvgpu.passes._tiles.mbarriers import BEFORE_LOAD

_OF_CLUSTER = "!llvm.ptr<7>"
_DECLARATIONS = """
llvm.func @cuda_copy_async(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @cuda_copy_async_commit()
llvm.func @cuda_copy_async_wait(i32)
llvm.func @cuda_run_batch(!llvm.ptr, !llvm.ptr)
llvm.func @cuda_run_batch_between(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @cuda_store_matrix(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @cuda_to_tf32(f32) -> i32
llvm.func @cuda_shuffle(i32, i32, i32, i32, i32, !llvm.ptr) -> i32
llvm.func @cuda_shuffle_words(i32, i32, !llvm.ptr, i32, i32, i32)
llvm.func @cuda_barrier_sync(i32, i32)
llvm.func @cuda_warp_sync(i32)
llvm.func @cuda_pause()
llvm.func @cuda_mbarrier_init(!llvm.ptr, i32)
llvm.func @cuda_mbarrier_arrive(!llvm.ptr, i32)
llvm.func @cuda_mbarrier_arrive_in_block(!llvm.ptr, i32)
llvm.func @cuda_mbarrier_expect(!llvm.ptr, i32)
llvm.func @cuda_mbarrier_wait(!llvm.ptr, i32)
llvm.func @cuda_set_registers(i32, i32)
llvm.func @cuda_proxy_fence()
llvm.func @cuda_cluster_sync()
llvm.func @cuda_cluster_sync_relaxed()
llvm.func @cuda_map_shared(!llvm.ptr, i32) -> !llvm.ptr
llvm.func @cuda_tma_load_multicast(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32)
llvm.func @cuda_tma_load(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @cuda_tma_store(!llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @cuda_tma_commit()
llvm.func @cuda_tma_wait(i32)
llvm.func @cuda_wgmma(!llvm.ptr, !llvm.ptr)
llvm.func @cuda_wgmma_fence()
llvm.func @cuda_wgmma_commit()
llvm.func @cuda_wgmma_wait(i32)
"""
"""A flag is an i32 of 0 or 1, which is also a valid C `bool` in a register."""

_MMA_KINDS = MappingProxyType(
    {"m16n8k16.f16": 0, "m16n8k16.bf16": 2, "m16n8k8.tf32": 6, "m16n8k32.s8": 8},
)
"""Numbers in `CUDA_MMA_KINDS`, by shape and operand types, with 32-bit accumulators."""

_SHAPE = re.compile(r"m = (\d+), n = (\d+), k = (\d+)")
_TYPE = re.compile(r"<(\w+)>")
_KIND = re.compile(r"shfl_kind (\w+)")

_MODES = MappingProxyType({"up": 0, "down": 1, "bfly": 2, "idx": 3})
"""Numbers in `cuda_shuffle_mode`, by kind of `shfl.sync`."""

_NEXT_BARRIER = "cuda_next_barrier"
_SCRATCH_WORDS = 16
_ALIGNMENT = 16

Replacement: TypeAlias = Callable[[Operation, InsertionPoint, Value], "Value | None"]


def declare(module: Operation) -> None:
    """Declare the functions if an operation of the module needs them."""
    if any(_needs_call(op) and not _is_block_barrier(op) for op in all_operations(module)):
        declare_functions(module, _DECLARATIONS)


def replace(kernel: Operation) -> None:
    """Replace a kernel's instructions by calls. Raises CompileError if one has no call."""
    for op in all_operations(kernel):
        if op.name.startswith("nvvm.") and not _needs_call(op):
            raise _unknown(op)
    _batch(kernel)
    replace_multiplications(kernel)
    found = [op for op in all_operations(kernel) if op.name in _CALLS]
    for number, op in enumerate([op for op in found if op.name == BARRIER]):
        with op.location:
            ip = InsertionPoint(op)
            alone = _is_block_barrier(op)
            call(BARRIER_AT if alone else _NEXT_BARRIER, [constant(number + 1, ip)], [], ip)
        if alone:
            found.remove(op)
            op.erase()
    join_barriers(kernel)
    if not found:
        return
    with kernel.location:
        memory = _scratch(InsertionPoint.at_block_begin(kernel.regions[0].blocks[0]))
    for group in shuffle_groups(kernel):
        found = [op for op in found if op not in group]
        shuffle_together(group, _shuffle_mode(group[0]), memory)
    for op in found:
        with op.location:
            made = _CALLS[op.name](op, InsertionPoint(op), memory)
        if made is not None:
            op.results[0].replace_all_uses_with(made)
        op.erase()


def _needs_call(op: Operation) -> bool:
    return op.name in _CALLS or op.name in WORDS or op.name == WGMMA


def _batch(kernel: Operation) -> None:
    """Batch the matrix instructions of warps, with memory for their registers."""
    counts = Counter(op.name for op in all_operations(kernel) if op.name in WORDS)
    if not counts:
        return
    words = sum(WORDS[name] * min(MOST, count) for name, count in counts.items())
    with kernel.location:
        memory = _words(words, InsertionPoint.at_block_begin(kernel.regions[0].blocks[0]))
    batch(kernel, _matrix_kind, memory, Tables(kernel))


def _matrix_kind(op: Operation) -> int:
    """The number of an mma's kind. Raises CompileError for instructions without a call."""
    return _mma_kind(op) if op.name == MMA else _load_kind(op)


def _unknown(op: Operation) -> CompileError:
    return CompileError(f"the simulator has no {op}", where=str(op.location))


def _require(op: Operation, **expected: str) -> None:
    """Raise CompileError unless each attribute of the operation contains the expected text."""
    for name, text in expected.items():
        if name not in op.attributes or text not in str(op.attributes[name]):
            raise _unknown(op)


def _refuse(op: Operation, *attributes: str) -> None:
    """Raise CompileError if the operation has one of these attributes."""
    if any(name in op.attributes for name in attributes):
        raise _unknown(op)


def _is_block_barrier(op: Operation) -> bool:
    """Whether the operation is barrier 0 of all threads of a block."""
    return op.name == BARRIER and not len(op.operands)


def _barrier(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    """A numbered barrier, of some threads of a block or of all."""
    _refuse(op, "reductionOp")
    given = list(DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    operands = list(op.operands)
    barrier = operands[0] if given[0] else constant(0, ip)
    threads = operands[given[0]] if given[1] else constant(0, ip)  # 0: the whole block
    call("cuda_barrier_sync", [barrier, threads], [], ip)


def _warp_barrier(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    call("cuda_warp_sync", [op.operands[0]], [], ip)


def _pause(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    call("cuda_pause", [], [], ip)


def _scratch(ip: InsertionPoint) -> Value:
    """Stack memory of a thread for the registers of an instruction."""
    return _words(_SCRATCH_WORDS, ip)


def _words(count: int, ip: InsertionPoint) -> Value:
    words = constant(count, ip)
    return llvm.alloca(Type.parse("!llvm.ptr"), words, words.type, alignment=_ALIGNMENT, ip=ip)


def _copy(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    to, source = (plain_address(value, ip) for value in list(op.operands)[:2])
    nbytes = constant(int(IntegerAttr(op.attributes["size"]).value), ip)
    given = op.operands[2] if len(op.operands) > 2 else nbytes
    call("cuda_copy_async", [to, source, nbytes, given], [], ip)


def _commit(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    call("cuda_copy_async_commit", [], [], ip)


def _wait(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    groups = int(IntegerAttr(op.attributes["n"]).value)
    call("cuda_copy_async_wait", [constant(groups, ip)], [], ip)


def _load_kind(op: Operation) -> int:
    _require(op, shape="m = 8, n = 8", eltType="b16")
    return 0


def _mma_kind(op: Operation) -> int:
    _require(op, layoutA="row", layoutB="col")
    _refuse(op, "b1Op")
    shape = _SHAPE.search(str(op.attributes["shape"]))
    type = _TYPE.search(str(op.attributes["multiplicandAPtxType"]))
    name = "" if shape is None or type is None else "m{}n{}k{}.{}".format(*shape.groups(), type[1])
    is_integer = name.endswith(".s8")
    if name not in _MMA_KINDS or ("i32" if is_integer else "f32") not in str(op.results[0].type):
        raise _unknown(op)
    if is_integer:
        _require(op, intOverflowBehavior="wrapped")
    else:
        _refuse(op, "intOverflowBehavior")
    return _MMA_KINDS[name]


def _to_tf32(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    _require(op, rnd="rna")
    if "relu" in op.attributes and BoolAttr(op.attributes["relu"]).value:
        raise _unknown(op)
    made = call("cuda_to_tf32", [op.operands[0]], [op.results[0].type], ip)
    return made.results[0]


def _shuffle_mode(op: Operation) -> int:
    """The number of a shuffle's kind. Raises CompileError for a form without a call."""
    _refuse(op, "return_value_and_is_valid")
    mode = _KIND.search(str(op.attributes["kind"]))
    return _MODES[mode[1] if mode else ""]


def _shuffle(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    mask, value, lane, clamp = op.operands
    word, type = mask.type, value.type
    if type != word:
        value = llvm.bitcast(word, value, ip=ip)
    number = constant(_shuffle_mode(op), ip)
    operands = [mask, number, value, lane, clamp, memory]
    made = call("cuda_shuffle", operands, [word], ip).results[0]
    if type != word:
        made = llvm.bitcast(type, made, ip=ip)
    return made


def _on_memory(function: str) -> Replacement:
    """A call with the operation's operands; shared-memory addresses become generic."""

    def replacement(op: Operation, ip: InsertionPoint, memory: Value) -> None:
        given = [
            plain_address(value, ip) if str(value.type).startswith("!llvm.ptr") else value
            for value in op.operands
        ]
        call(function, given, [], ip)

    return replacement


def _mbarrier_wait(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    address, phase, _ = op.operands
    call("cuda_mbarrier_wait", [plain_address(address, ip), phase], [], ip)


def _mbarrier_try_wait(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    """A wait that always succeeds."""
    _mbarrier_wait(op, ip, memory)
    return llvm.mlir_constant(IntegerAttr.get(op.results[0].type, 1), ip=ip)


def _mbarrier_arrive(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    if any(list(result.uses) for result in op.results):
        raise _unknown(op)
    address, *given = op.operands
    count = given[0] if given else constant(1, ip)
    in_block = "cluster" not in str(op.attributes["scope"])
    is_remote = str(address.type) == _OF_CLUSTER
    name = "cuda_mbarrier_arrive" + "_in_block" * (in_block and is_remote)
    call(name, [plain_address(address, ip), count], [], ip)


def _coordinates(values: list[Value], ip: InsertionPoint, memory: Value) -> Value:
    for number, value in enumerate(values):
        llvm.store(value, advanced(memory, 4 * number, ip), ip=ip)
    return memory


def _operands(op: Operation) -> list[list[Value]]:
    """The operand groups of an operation with operand segments."""
    left = list(op.operands)
    sizes = list(DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    return [[left.pop(0) for _ in range(size)] for size in sizes]


def _bulk_load(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    to, map, coordinates, barrier, *others = _operands(op)
    offsets, mask, *rest = others
    if offsets or any(rest):
        raise _unknown(op)
    given = [plain_address(value, ip) for value in (to[0], map[0], barrier[0])]
    given.append(_coordinates(coordinates, ip, memory))
    if not mask:
        call("cuda_tma_load", given, [], ip)
        return
    ranks = llvm.zext(Type.parse("i32"), mask[0], ip=ip)
    call("cuda_tma_load_multicast", [*given, ranks], [], ip)


def _mapped(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    address, rank = op.operands
    pointer = Type.parse("!llvm.ptr")
    made = call("cuda_map_shared", [plain_address(address, ip), rank], [pointer], ip).results[0]
    return llvm.addrspacecast(op.results[0].type, made, ip=ip)


def _bulk_store(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    map, source, coordinates, *others = _operands(op)
    if any(others):
        raise _unknown(op)
    given = [plain_address(value, ip) for value in (source[0], map[0])]
    call("cuda_tma_store", [*given, _coordinates(coordinates, ip, memory)], [], ip)


def _no_operands(function: str) -> Replacement:
    """Replace an operation by a call without operands."""

    def replacement(op: Operation, ip: InsertionPoint, memory: Value) -> None:
        call(function, [], [], ip)

    return replacement


def _store_matrices(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    _require(op, shape="m = 8, n = 8", eltType="b16")
    row, *words = op.operands
    for number, word in enumerate(words):
        llvm.store(word, advanced(memory, 4 * number, ip), ip=ip)
    transposed = constant(int("col" in str(op.attributes["layout"])), ip)
    given = [memory, plain_address(row, ip), constant(len(words), ip), transposed]
    call("cuda_store_matrix", given, [], ip)


def _set_registers(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    count = constant(int(IntegerAttr(op.attributes["regCount"]).value), ip)
    increases = constant(int("increase" in str(op.attributes["action"])), ip)
    call("cuda_set_registers", [count, increases], [], ip)


def _wgmma_wait(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    groups = int(IntegerAttr(op.attributes["group"]).value)
    call("cuda_wgmma_wait", [constant(groups, ip)], [], ip)


def _bulk_wait(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    groups = int(IntegerAttr(op.attributes["group"]).value)
    call("cuda_tma_wait", [constant(groups, ip)], [], ip)


def _fence_proxy(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    if BEFORE_LOAD not in op.attributes:
        call("cuda_proxy_fence", [], [], ip)


def _nothing(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    """Erase an operation that orders memory: simulated threads see writes at once."""


_CALLS: Mapping[str, Replacement] = MappingProxyType(
    {
        "nvvm.mbarrier.init": _on_memory("cuda_mbarrier_init"),
        "nvvm.mbarrier.arrive": _mbarrier_arrive,
        "nvvm.mbarrier.arrive.expect_tx": _on_memory("cuda_mbarrier_expect"),
        "nvvm.mbarrier.try_wait": _mbarrier_try_wait,
        "nvvm.mbarrier.try_wait.parity": _mbarrier_wait,
        "nvvm.fence.mbarrier.init": _nothing,
        "nvvm.cluster.arrive": _no_operands("cuda_cluster_sync"),
        "nvvm.cluster.arrive.relaxed": _no_operands("cuda_cluster_sync_relaxed"),
        "nvvm.cluster.wait": _nothing,
        "nvvm.mapa": _mapped,
        "nvvm.fence.proxy": _fence_proxy,
        "nvvm.fence.proxy.acquire": _nothing,
        "nvvm.cp.async.bulk.tensor.shared.cluster.global": _bulk_load,
        "nvvm.cp.async.bulk.tensor.global.shared.cta": _bulk_store,
        "nvvm.cp.async.bulk.commit.group": _no_operands("cuda_tma_commit"),
        "nvvm.stmatrix": _store_matrices,
        "nvvm.setmaxregister": _set_registers,
        "nvvm.wgmma.fence.aligned": _no_operands("cuda_wgmma_fence"),
        "nvvm.wgmma.commit.group.sync.aligned": _no_operands("cuda_wgmma_commit"),
        "nvvm.wgmma.wait.group.sync.aligned": _wgmma_wait,
        "nvvm.cp.async.bulk.wait_group": _bulk_wait,
        "nvvm.cp.async.shared.global": _copy,
        "nvvm.cp.async.commit.group": _commit,
        "nvvm.cp.async.wait.group": _wait,
        "nvvm.convert.float.to.tf32": _to_tf32,
        SHUFFLE: _shuffle,
        BARRIER: _barrier,
        "nvvm.bar.warp.sync": _warp_barrier,
        "nvvm.nanosleep": _pause,
    }
)
