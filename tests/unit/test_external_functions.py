# SPDX-License-Identifier: Apache-2.0
"""User functions in C and assembly compute tiles, with both code generators."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import ArtifactError, DeviceFault, UserError
from xtc.graph.graph import Graph
from xtc.schedule import schedule_texts

ROOT = Path(__file__).parents[2]

PRODUCT = """
#include <stdint.h>
#include "types.h"

int32_t product(TOTAL *restrict c, const IN *restrict a, const IN *restrict b,
                int64_t extent_i, int64_t extent_j, int64_t extent_k,
                int64_t c_i, int64_t c_j, int64_t c_k, int64_t a_i, int64_t a_j, int64_t a_k,
                int64_t b_i, int64_t b_j, int64_t b_k)
{
  if (c_k || a_j || b_i || extent_i > 16 || extent_j > 16 || extent_k > 8)
    return 1;
  for (int64_t i = 0; i < extent_i; i++)
    for (int64_t k = 0; k < extent_k; k++)
      for (int64_t j = 0; j < extent_j; j++)
        c[i * c_i + j * c_j] += (TOTAL)a[i * a_i + k * a_k] * b[k * b_k + j * b_j];
  return STATUS;
}
"""

CONV = """
#include <stdint.h>

int32_t conv(float *o, const float *x, const float *w, int64_t extent_w, int64_t extent_f,
             int64_t extent_c, int64_t o_w, int64_t o_f, int64_t o_c, int64_t x_w, int64_t x_f,
             int64_t x_c, int64_t w_w, int64_t w_f, int64_t w_c)
{
  for (int64_t i = 0; i < extent_w; i++)
    for (int64_t f = 0; f < extent_f; f++)
      for (int64_t c = 0; c < extent_c; c++)
        o[i * o_w + f * o_f] += x[i * x_w + c * x_c] * w[c * w_c + f * w_f];
  return 0;
}
"""

# rdi: result, rsi: operand, rdx: extent, rcx and r8: their strides.
RELU = """
    .globl largest
    .type largest, @function
largest:
    xorl %eax, %eax
    xorps %xmm1, %xmm1
1:  testq %rdx, %rdx
    jle 2f
    movss (%rsi), %xmm0
    maxss %xmm1, %xmm0
    movss %xmm0, (%rdi)
    leaq (%rdi,%rcx,4), %rdi
    leaq (%rsi,%r8,4), %rsi
    decq %rdx
    jmp 1b
2:  ret
    .size largest, .-largest
    .section .note.GNU-stack,"",@progbits
"""


def _product(dtype: str = "float32", *, relu: bool = False) -> Graph:
    with O.graph(name="layer") as builder:
        product = O.matmul(O.tensor((40, 33), dtype), O.tensor((33, 24), dtype), name="C")
        if relu:
            O.relu(product)
    return builder.graph


def _scheduled(graph: Graph, source: Path, *, parallel: bool = False) -> xtc.Schedule:
    schedule = xtc.Schedule(graph)
    node = schedule["C"].tile("i", {"i1": 16}).tile("j", {"j1": 16}).tile("k", {"k1": 8})
    node.interchange(["i", "j", "k", "i1", "j1", "k1"]).external_at("k", "product", sources=source)
    if parallel:
        node.parallelize(["i"])
    return schedule


def _source(folder: Path, element: str = "float", total: str = "float", status: int = 0) -> Path:
    lines = (f"#define IN {element}", f"#define TOTAL {total}", f"#define STATUS {status}")
    (folder / "types.h").write_text("\n".join([*lines, ""]))
    path = folder / 'it\'s "one".c'
    path.write_text(PRODUCT)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_tiles_tails_and_consumers(tmp_path: Path, codegen: str) -> None:
    """Sizes with remainders, on threads, with a consumer in the loops."""
    graph = _product(relu=True)
    for parallel in (False, True):
        schedule = _scheduled(graph, _source(tmp_path), parallel=parallel)
        with xtc.compile(graph, schedule=schedule, codegen=codegen, in_memory=parallel) as module:
            module.check()
            again = xtc.Schedule.of(graph, {"C": str(module.schedule["C"].data)})
            assert again["C"].nest == module.schedule["C"].nest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "element", "total"),
    [("float64", "double", "double"), ("int8", "int8_t", "int32_t"), ("int32",) + ("int32_t",) * 2],
)
def test_element_types_determine_c_types(
    tmp_path: Path, dtype: str, element: str, total: str
) -> None:
    graph = _product(dtype)
    schedule = _scheduled(graph, _source(tmp_path, element, total))
    with xtc.compile(graph, schedule=schedule, in_memory=True) as module:
        module.check()


@pytest.mark.slow
def test_a_changed_source_is_recompiled(tmp_path: Path) -> None:
    """Including a changed included file; a nonzero status fails its call, but not the next one."""
    graph = _product()
    schedule = _scheduled(graph, _source(tmp_path))
    with xtc.compile(graph, schedule=schedule) as module:
        module.check()
    _source(tmp_path, status=7)
    with xtc.compile(graph, schedule=schedule) as module:
        for _ in range(2):
            with pytest.raises(DeviceFault, match="an external function returned 7, not 0"):
                module.check()


@pytest.mark.slow
def test_another_signature_is_refused(tmp_path: Path) -> None:
    source = _source(tmp_path, "double", "double")
    with pytest.raises(UserError, match="does not compile as external functions") as refused:
        xtc.compile(_product(), schedule=_scheduled(_product(), source))
    assert "conflicting types" in str(refused.value)
    assert "it is called as int32_t product(" in str(refused.value)
    assert "float *result, const float *operand0, const float *operand1" in str(refused.value)


@pytest.mark.slow
def test_sources_must_define_the_function(tmp_path: Path) -> None:
    source = tmp_path / "empty.c"
    source.write_text("int nothing;\n")
    with pytest.raises(ArtifactError, match="undefined symbol: product") as refused:
        xtc.compile(_product(), schedule=_scheduled(_product(), source))
    assert "the sources of an external function define it" in str(refused.value)
    nest: dict[str, object] = {"i": {}, "j": {"external": "product"}, "k": {}}
    with pytest.raises(UserError, match="external function 'product' has no sources"):
        xtc.compile(_product(), schedule={"C": nest})
    nest = {"i": {}, "j": {"external": {"function": "layer", "sources": str(source)}}, "k": {}}
    with pytest.raises(UserError, match="'layer' is the graph's function and an external one"):
        xtc.compile(_product(), schedule={"C": nest})
    nest = {"i": {}, "j": {"external": {"function": "f", "sources": "kernel.f90"}}, "k": {}}
    with pytest.raises(UserError, match=r"kernel\.f90 is neither C nor assembly"):
        xtc.compile(_product(), schedule={"C": nest})


@pytest.mark.slow
def test_strides_of_a_convolution(tmp_path: Path) -> None:
    source = tmp_path / "conv.c"
    source.write_text(CONV)
    with O.graph(name="layer") as builder:
        O.conv2d(O.tensor((1, 13, 13, 8)), O.tensor((3, 3, 8, 20)), stride=(2, 2), name="C")
    schedule = xtc.Schedule(builder.graph)
    node = schedule["C"].tile("w", {"w1": 4}).tile("c", {"c1": 4}).tile("f", {"f1": 16})
    node.interchange(["n", "h", "w", "f", "r", "s", "c", "w1", "c1", "f1"])
    node.external_at("c", "conv", sources=[source], flags=["-funroll-loops"])
    for codegen in ("llvm", "c"):
        with xtc.compile(builder.graph, schedule=schedule, codegen=codegen) as module:
            module.check()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembly is for x86-64")
@pytest.mark.slow
def test_assembly(tmp_path: Path) -> None:
    source = tmp_path / "largest.s"
    source.write_text(RELU)
    with O.graph(name="layer") as builder:
        O.relu(O.tensor((5, 37)), name="C")
    schedule = xtc.Schedule(builder.graph)
    schedule["C"].tile("j", {"j1": 16}).external_at("j", "largest", sources=source)
    with xtc.compile(builder.graph, schedule=schedule) as module:
        module.check()


def test_devices_refuse_external_functions(tmp_path: Path) -> None:
    graph = _product()
    with pytest.raises(UserError, match="the target of C does not call C functions"):
        xtc.compile(graph, target="null", schedule=_scheduled(graph, _source(tmp_path)))


@pytest.mark.slow
def test_the_example_of_the_page() -> None:
    with O.graph(name="layer") as builder:
        O.matmul(O.tensor((20, 7)), O.tensor((7, 70)), name="C")
    schedule = xtc.Schedule(builder.graph)
    node = schedule["C"].tile("i", {"i1": 8}).tile("j", {"j1": 32})
    node.interchange(["i", "j", "k", "i1", "j1"])
    node.external_at("k", "tile_8x32", sources=[ROOT / "examples" / "tile_8x32.c"])
    with xtc.compile(builder.graph, schedule=schedule, in_memory=True) as module:
        module.check()


def test_schedules_of_a_database_call_no_functions(tmp_path: Path) -> None:
    """Neither schedule='tuned' nor a search compiles functions that a database names."""
    nest = {"C": {"i": {}, "j": {"external": {"function": "f", "sources": "f.c"}}, "k": {}}}
    with pytest.raises(UserError, match="'j' of C calls 'f', which a schedule from a database"):
        schedule_texts(_product(), nest, trusted=False)
