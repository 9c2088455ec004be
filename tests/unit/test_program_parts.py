# SPDX-License-Identifier: Apache-2.0
"""Code generation of kernels in parts, beside the rest of a program."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from benchmarks.networks import NETWORKS
from xtc.core.errors import CompileError
from xtc.driver.checking import samples
from xtc.ir import program_parts
from xtc.ir.mlir import Context, Module
from xtc.ir.partition import symbol_of, top_level
from xtc.system.rare_collections import rare_collections

_PROGRAM = """
memref.global "private" constant @weights : memref<256xf32>
func.func @net(%x: memref<8xf32>) {
  %w = memref.get_global @weights : memref<256xf32>
  call @plain(%x) : (memref<8xf32>) -> ()
  call @allocates(%x) : (memref<8xf32>) -> ()
  call @reads(%x) : (memref<8xf32>) -> ()
  call @both(%x) : (memref<8xf32>) -> ()
  return }
func.func private @plain(%x: memref<8xf32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
  call @inner(%x) : (memref<8xf32>) -> ()
  call @shared(%x) : (memref<8xf32>) -> ()
  return }
func.func private @inner(%x: memref<8xf32>) { return }
func.func private @allocates(%x: memref<8xf32>) {
  call @allocates.inner(%x) : (memref<8xf32>) -> ()
  return }
func.func private @allocates.inner(%x: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  return }
func.func private @reads(%x: memref<8xf32>) {
  %w = memref.get_global @weights : memref<256xf32>
  return }
func.func private @both(%x: memref<8xf32>) { return }
func.func private @shared(%x: memref<8xf32>) { return }
"""


def _names(module: Any) -> list[str]:
    return [symbol_of(op) for op in top_level(module)]


def test_parts_contain_self_contained_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_parts, "PART_OPERATIONS", 1)
    text = _PROGRAM.replace("  call @shared(%x) : (memref<8xf32>) -> ()\n", "")
    with Context():
        module = Module.parse(text).operation
        parts = program_parts.take_parts(module, "net")
        for part in (module, *parts):
            part.verify()
        assert [_names(part) for part in parts] == [
            ["plain", "inner"],
            ["allocates", "allocates.inner"],
            ["both"],
        ]
        assert _names(module) == ["weights", "net", "plain", "allocates", "reads", "both", "shared"]
        declared = {symbol_of(op): op for op in top_level(module)}
        assert not declared["plain"].regions[0].blocks
        assert declared["reads"].regions[0].blocks
        may_fail = [name for name, op in declared.items() if "xtc.may_fail" in op.attributes]
        assert may_fail == ["allocates"]
        assert all("xtc.constant_bytes = 1024 : i64" in str(part) for part in parts)


def test_a_function_with_several_callers_is_not_extracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_parts, "PART_OPERATIONS", 1)
    both = "  call @both(%x) : (memref<8xf32>) -> ()\n"
    text = _PROGRAM.replace(both, both + both.replace("both", "shared"))
    with Context():
        module = Module.parse(text).operation
        parts = program_parts.take_parts(module, "net")
        assert [_names(part) for part in parts] == [["allocates", "allocates.inner"], ["both"]]
        assert {"plain", "shared"} <= set(_names(module))


def test_a_single_part_is_not_extracted() -> None:
    with Context():
        module = Module.parse(_PROGRAM).operation
        assert not program_parts.take_parts(module, "net")
        assert "xtc.constant_bytes" not in str(module)


def _results(module: xtc.Module, arrays: list[Any]) -> list[np.ndarray[Any, Any]]:
    found = module(*arrays)
    if isinstance(found, Mapping):
        return list(found.values())
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "in_memory"), [("resnet18", False), ("gpt2_step", True), ("gpt2_step", False)]
)
def test_parts_compute_the_same_bits(
    name: str, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, taken = NETWORKS[name](True), []
    take = program_parts.take_parts

    def counted(*arguments: Any) -> list[Any]:
        taken.append(take(*arguments))
        return taken[-1]

    monkeypatch.setattr("xtc_targets.host.program_code.take_parts", counted)
    results = []
    for size in (1 << 30, 50):
        monkeypatch.setattr(program_parts, "PART_OPERATIONS", size)
        with xtc.compile(graph, cache=False, in_memory=in_memory) as module:
            results.append(_results(module, samples(module.artifact.manifest, 0)))
    assert [len(parts) > 1 for parts in taken] == [False, True]
    for whole, parts in zip(*results, strict=True):
        assert whole.tobytes() == parts.tobytes()


@pytest.mark.slow
def test_an_error_ends_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> bytes:
        raise CompileError("no code today")

    monkeypatch.setattr(program_parts, "PART_OPERATIONS", 20)
    monkeypatch.setattr("xtc_targets.host.generate_llvm.compile_ir", fail)
    with pytest.raises(CompileError, match="no code today"):
        xtc.compile(NETWORKS["resnet18"](True), cache=False)
    monkeypatch.undo()
    with O.graph(name="again") as gb:
        O.relu(O.tensor((4, 4)))
    xtc.compile(gb.graph, cache=False).close()


def test_garbage_collection_is_rare_inside_and_restored_outside() -> None:
    before = gc.get_threshold()
    with rare_collections(), rare_collections():
        assert gc.get_threshold()[0] >= before[0]
    assert gc.get_threshold() == before
    gc.set_threshold(0)
    try:
        with rare_collections():
            assert gc.get_threshold()[0] == 0
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
