# SPDX-License-Identifier: Apache-2.0
"""Functions of doubles in generated kernels, compiled for this machine and compared with libm."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import pytest

import xtc
import xtc.ops as O
from xtc.system import c_compiler, tool
from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.device_c import KERNEL_TEXT
from xtc_targets.upmem.toolchain.clang import unavailable

SMALL = [0.0, -0.0, 1e-300, 1e-12, -3e-7, 0.1, -0.3, 0.4999, 0.5, 0.75, -0.999]
LARGE = [1.0, -1.5, 2.4, 2.5, -3.7, 10.0, 26.0, 123.456, -700.25, 1e6]
WHOLE = [*SMALL, *LARGE, 1e18, -2.5, 3.5, 4503599627370497.0]
FUNCTIONS: dict[str, tuple[Callable[[float], float], list[float]]] = {
    "sqrt": (math.sqrt, [abs(x) for x in (*SMALL, *LARGE, 1e308, 5e-324)]),
    "exp": (math.exp, [x for x in (*SMALL, *LARGE) if x < 709]),
    "log": (math.log, [abs(x) for x in (*SMALL, *LARGE, 5e-324, 1e308) if x]),
    "expm1": (math.expm1, [x for x in (*SMALL, *LARGE) if x < 709]),
    "log1p": (math.log1p, [*SMALL, *(abs(x) for x in LARGE)]),
    "sin": (math.sin, [*SMALL, *LARGE]),
    "cos": (math.cos, [*SMALL, *LARGE]),
    "tan": (math.tan, [*SMALL, *LARGE]),
    "asin": (math.asin, [*SMALL, 1.0, -1.0]),
    "acos": (math.acos, [*SMALL, 1.0, -1.0]),
    "atan": (math.atan, [*SMALL, *LARGE, 1e300]),
    "sinh": (math.sinh, [x for x in (*SMALL, *LARGE) if abs(x) < 700]),
    "cosh": (math.cosh, [x for x in (*SMALL, *LARGE) if abs(x) < 700]),
    "tanh": (math.tanh, [*SMALL, *LARGE]),
    "asinh": (math.asinh, [*SMALL, *LARGE, 1e300]),
    "acosh": (math.acosh, [1.0, 1.0001, 2.5, 1e6, 1e300]),
    "atanh": (math.atanh, [x for x in SMALL if abs(x) < 1]),
    "erf": (math.erf, [*SMALL, *LARGE]),
    "erfc": (math.erfc, [*SMALL, *LARGE]),
    "trunc": (lambda x: math.copysign(abs(float(math.trunc(x))), x), WHOLE),
    "floor": (lambda x: float(math.floor(x)) if x else x, WHOLE),
    "ceil": (lambda x: float(math.ceil(x)), WHOLE),
    "rint": (lambda x: float(round(x)), WHOLE),
}
PAIRS = {
    "pow": (math.pow, [(2.0, 0.5), (-2.0, 3.0), (-2.0, 4.0), (0.0, 3.0), (1.01, 1e4), (7.5, -2.0)]),
    "fmod": (math.fmod, [(7.5, 2.0), (-7.5, 2.0), (1e18, 3.0), (0.3, 0.1), (5.0, 7.0)]),
    "atan2": (math.atan2, [(1.0, 1.0), (1.0, -1.0), (-1.0, -2.0), (0.0, -1.0), (2.0, 0.0)]),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("math")
    text = "#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n"
    text += (KERNEL_TEXT / "math64.h").read_text()
    text += "".join(f"double test_{f}(double x) {{ return {f}(x); }}\n" for f in FUNCTIONS)
    text += "".join(f"double test_{f}(double x, double y) {{ return {f}(x, y); }}\n" for f in PAIRS)
    source, output = folder / "math.c", folder / "libmath64.so"
    source.write_text(text)
    flags = ["-std=gnu11", "-O1", "-w", "-fno-builtin", "-ffp-contract=off", "-fPIC", "-shared"]
    words = [*c_compiler.command(), *flags, str(source), "-o", str(output)]
    tool.run(words, what="compiling", install_hint=c_compiler.INSTALL_HINT)
    return ctypes.CDLL(str(output))


def called(library: ctypes.CDLL, name: str, *arguments: float) -> float:
    function = library[f"test_{name}"]
    function.restype = ctypes.c_double
    result: float = function(*map(ctypes.c_double, arguments))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_libm(library: ctypes.CDLL, name: str) -> None:
    function, arguments = FUNCTIONS[name]
    for x in arguments:
        expected, found = function(x), called(library, name, x)
        assert found == pytest.approx(expected, rel=4e-13, abs=1e-300), (name, x)
        assert math.copysign(1, found) == math.copysign(1, expected) or found == 0, (name, x)
    assert math.isnan(called(library, name, math.nan))


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_arguments_agree_with_libm(library: ctypes.CDLL, name: str) -> None:
    function, arguments = PAIRS[name]
    for x, y in arguments:
        expected = function(x, y)
        assert called(library, name, x, y) == pytest.approx(expected, rel=4e-12), (name, x, y)


def test_undefined_results_are_nan_and_overflow_is_infinite(library: ctypes.CDLL) -> None:
    nans = [("sqrt", -1.0), ("log", -1.0), ("asin", 1.5), ("acos", -2.0), ("sin", math.inf)]
    assert all(math.isnan(called(library, name, x)) for name, x in nans)
    assert called(library, "log", 0.0) == -math.inf
    assert called(library, "exp", 800.0) == math.inf
    assert called(library, "pow", 0.0, -1.0) == math.inf
    assert math.isnan(called(library, "pow", -2.0, 0.5))


@pytest.mark.slow
@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dpus_compute_functions(dtype: str) -> None:
    a = O.tensor((12,), dtype, name="a")
    with UpmemDevice() as dpu:
        with O.graph(name="functions") as graph:
            b = O.sqrt(O.exp(O.tanh(a, device=dpu), device=dpu), device=dpu)
            O.add(b, O.mul(O.sin(a, device=dpu), O.erf(a, device=dpu), device=dpu), device=dpu)
        with xtc.compile(graph.graph) as module:
            assert all(result.ok for result in module.check())
