# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir
from xtc.core.errors import UserError
from xtc_targets.host import peak
from xtc_targets.host.description import HostDescription
from xtc_targets.host.dot_kernel import DotShape, dot_kernel_ir, dot_shape_for
from xtc_targets.host.fma_kernel import SYMBOL, Shape, kernel_ir, shape_for
from xtc_targets.host.passes._dot_instructions import DOTS as DOTS_BY_FEATURE

SHORT = 0.002


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ml_dtypes.bfloat16])
def test_the_peak_is_plausible(dtype: str) -> None:
    # An optimizer that deletes the loop would give rates far above any core's.
    assert 0 < peak.peak_flops(dtype, seconds=SHORT) < 1e13


def test_several_threads() -> None:
    assert 0 < peak.peak_flops(np.float32, threads=2, seconds=SHORT) < 2e13


def test_a_process_measures_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        rates = list(pool.map(lambda _: peak.peak_flops("float32", 1, SHORT), range(4)))
    assert len(set(rates)) == 1


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_other_element_types(dtype: str) -> None:
    with pytest.raises(UserError, match="no multiply-add peak is measured for"):
        peak.peak_flops(dtype)


def test_operators_of_other_types_are_measured_without_a_peak() -> None:
    x = O.tensor((8, 8), "int32", name="X")
    with O.graph(name="twice") as builder:
        O.add(x, x)
    with xtc.compile(builder.graph) as module:
        found = module.measure(repeat=1)
    assert found.gflops is not None
    assert found.fraction_of_peak is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"threads": 0}, "threads is 0"),
        ({"seconds": 0.0}, "seconds is 0"),
        ({"seconds": float("inf")}, "seconds is inf"),
    ],
)
def test_unusable_arguments(arguments: dict[str, float], text: str) -> None:
    with pytest.raises(UserError, match=text):
        peak.peak_flops("float32", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "features", "shape"),
    [
        ("float32", "+sse2,-avx,-fma", Shape("float32", 12, 4, False)),
        ("float64", "+avx,-fma,-avx512f", Shape("float64", 12, 4, False)),
        ("float32", "+avx,+avx2,+fma,-avx512f", Shape("float32", 12, 8, True)),
        ("float32", "+avx,+fma,+avx512f", Shape("float32", 20, 16, True)),
        ("float64", "+avx,+fma,+avx512f", Shape("float64", 20, 8, True)),
        ("float32", "+fp-armv8,+neon", Shape("float32", 20, 4, True)),
        ("float64", "", Shape("float64", 12, 2, False)),
    ],
)
def test_shape_follows_the_features(dtype: str, features: str, shape: Shape) -> None:
    assert shape_for(dtype, features) == shape


def test_operations_of_an_iteration() -> None:
    assert Shape("float32", 12, 8, True).flops == 2 * 12 * 8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("iterations", [1, 2, 3, 9])
def test_the_kernel_computes_every_element_the_expected_number_of_times(
    dtype: str, fused: bool, iterations: int
) -> None:
    shape = shape_for(dtype, Machine.host().features)
    if not fused:
        shape = dataclasses.replace(shape, fused=False)
    start = peak.start_values(shape)
    assert len(set(start.tolist())) == shape.chains * shape.width
    got = start.copy()
    with peak.loaded_function(shape) as function:
        function(iterations, got.ctypes.data, 0.5, 1.0)
    expected = (start.astype(np.float64) - 2) * 0.5**iterations + 2
    np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(dtype).eps)


OWN_DOTS = [
    shape
    for dtype in ("bfloat16", "int8", "int16")
    if (shape := dot_shape_for(dtype, HostDescription.of(Machine.host()).dots)) is not None
]


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "int16"])
def test_a_processor_without_the_instruction_has_no_shape(dtype: str) -> None:
    assert dot_shape_for(dtype, ()) is None


@pytest.mark.parametrize("feature", DOTS_BY_FEATURE)
def test_dot_kernels_are_right_for_every_processor(feature: str) -> None:
    is_arm = feature in ("bf16", "dotprod")
    triple = "aarch64-linux-gnu" if is_arm else "x86_64-linux-gnu"
    needed = "+neon" if is_arm else "+avx2" if feature.startswith("avx2") else "+avx512vl"
    machine = Machine.of(triple, "generic" if is_arm else "x86-64", f"{needed},+{feature}")
    for dtype in ("bfloat16", "int8", "int16"):
        shape = dot_shape_for(dtype, (feature,))
        if shape is not None:
            assert SYMBOL.encode() in compile_ir(dot_kernel_ir(shape), machine)


@pytest.mark.parametrize("shape", OWN_DOTS, ids=lambda shape: shape.dot.element)
@pytest.mark.parametrize("iterations", [1, 2, 9])
def test_the_dot_kernel_adds_every_group_the_expected_number_of_times(
    shape: DotShape, iterations: int
) -> None:
    got = peak.start_values(shape)
    m, a = peak.factors(shape)
    with peak.loaded_function(shape) as function:
        function(iterations, got.ctypes.data, m, a)
    np.testing.assert_array_equal(got, iterations * shape.dot.group)


def test_fused_kernel_calls_no_library() -> None:
    shape = shape_for("float32", Machine.host().features)
    code = compile_ir(kernel_ir(shape), Machine.host())
    assert b"fmaf" not in code
    assert SYMBOL.encode() in code


def test_code_is_unloaded_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []

    class Watched(LoadedObjects):
        def close(self) -> None:
            closed.append(1)
            super().close()

    monkeypatch.setattr(peak, "LoadedObjects", Watched)
    shape = shape_for("float64", Machine.host().features)
    with pytest.raises(RuntimeError, match="inside"), peak.loaded_function(shape):
        raise RuntimeError("inside")
    assert closed == [1]
