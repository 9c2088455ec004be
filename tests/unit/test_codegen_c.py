# SPDX-License-Identifier: Apache-2.0
"""Code generated as C agrees with NumPy and with LLVM's code."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.c_support import EVERY_OPERATOR, TYPES, every_operator, strict_compiler
from tests.unit.ops_support import agree, exactly
from xtc.core import discover
from xtc.core.errors import ArtifactError, ToolError, UserError
from xtc.graph import known_operators
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import Artifact

__all__ = ["strict_compiler"]


def matmul_graph(name: str = "product", dtype: str = "float32") -> Graph:
    a = O.tensor((4, 5), dtype, name="a")
    b = O.tensor((5, 3), dtype, name="b")
    with O.graph(name=name) as gb:
        O.matmul(a, b, name="c")
    return gb.graph


def test_every_operator_is_tested() -> None:
    assert set(EVERY_OPERATOR) == set(known_operators.operators())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
def test_every_operator_and_type(strict_compiler: str, dtype: str) -> None:
    graph, arrays = every_operator(dtype)
    assert len(graph.outputs) >= (20 if dtype != "bool" else 8)
    with (
        xtc.compile(graph, codegen="c", opt_level=2, in_memory=True) as by_c,
        xtc.compile(graph, codegen="llvm", in_memory=True) as by_llvm,
    ):
        by_c.check(**arrays)
        for mine, other, tensor in zip(
            by_c(**arrays), by_llvm(**arrays), graph.outputs, strict=True
        ):
            agree(mine, other, graph.reduction_size, str(tensor.name))


@pytest.mark.slow
def test_integers_wrap_and_floats_saturate_as_in_llvm(strict_compiler: str) -> None:
    x = O.tensor((6,), "float32", name="x")
    n = O.tensor((6,), "int32", name="n")
    with O.graph(name="extremes") as gb:
        O.outputs(
            *[O.cast(x, to) for to in ("int8", "int16", "int32", "int64", "bool")],
            *[O.cast(n, to) for to in ("int8", "int16", "bool", "float16", "bfloat16")],
            O.add(n, n),
            O.mul(n, n),
            O.neg(n),
        )
    floats = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -0.75], np.float32)
    integers = np.array([-(2**31), 2**31 - 1, -1, 255, 65536, 0], np.int32)
    with xtc.compile(gb.graph, codegen="c") as module, xtc.compile(gb.graph) as other:
        for mine, expected in zip(module(floats, integers), other(floats, integers), strict=True):
            exactly(mine, expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["maximum", "minimum"])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_maxima_propagate_nan_and_order_zeros(
    strict_compiler: str, dtype: str, kind: str, vector: bool
) -> None:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 3.0])
    pairs = np.stack(np.meshgrid(special, special)).reshape(2, -1)
    a, b = pairs.astype(xtc.core.types.element_type(dtype).numpy)
    x, y = (O.tensor((64,), dtype, name=name) for name in "xy")
    with O.graph(name="extreme") as gb:
        getattr(O, kind)(x, y, name="z")
    schedule = {"z": {"i": None, "i#8": "vectorize"}} if vector else None
    with xtc.compile(gb.graph, codegen="c", schedule=schedule) as module:
        result = module(a, b).astype(np.float64)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    exactly(result, getattr(np, kind)(wide_a, wide_b))
    both_zero = (wide_a == 0) & (wide_b == 0)
    negative = np.signbit(wide_a), np.signbit(wide_b)
    expected = np.logical_and(*negative) if kind == "maximum" else np.logical_or(*negative)
    assert np.array_equal(np.signbit(result[both_zero]), expected[both_zero])


class TestWeights:
    def graph(self) -> tuple[Graph, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        weights = np.arange(40 * 30, dtype=np.float32).reshape(40, 30)
        x = O.tensor((2, 40), "float32", name="x")
        with O.graph(name="net") as gb:
            O.matmul(x, O.tensor((40, 30), const=weights, name="w"), name="y")
        return gb.graph, weights

    @pytest.mark.slow
    @pytest.mark.parametrize("in_memory", [False, True])
    def test_weights_are_linked_as_bytes(self, strict_compiler: str, in_memory: bool) -> None:
        graph, weights = self.graph()
        x = np.ones((2, 40), np.float32)
        with xtc.compile(graph, codegen="c", in_memory=in_memory) as module:
            agree(module(x), x @ weights, 40)

    @pytest.mark.slow
    def test_weights_are_not_in_the_text(self) -> None:
        graph, _ = self.graph()
        with xtc.compile(graph, codegen="c") as module:
            text = module.ir("code")
        assert "extern const float net_w[40][30];" in text
        assert "1199" not in text


class TestArtifact:
    @pytest.mark.slow
    def test_the_source_is_stored_and_hashed(self, tmp_path: Path) -> None:
        folder = tmp_path / "product"
        with xtc.compile(matmul_graph(), codegen="c") as module:
            module.save(folder)
            text = module.ir("code")
        assert (folder / "module.c").read_text() == text
        with xtc.load(folder) as loaded:
            exactly(
                loaded(np.ones((4, 5), np.float32), np.ones((5, 3), np.float32)),
                np.full((4, 3), 5, np.float32),
            )
        (folder / "module.c").write_text(text + "// changed\n")
        with pytest.raises(ArtifactError, match=r"module\.c"):
            Artifact.read(folder)

    @pytest.mark.slow
    def test_the_manifest_records_compiler_and_flags(self) -> None:
        with xtc.compile(matmul_graph(), codegen="c", opt_level=1) as module:
            made = module.artifact.manifest.toolchain
        assert made["codegen"] == "c"
        assert made["compiler"] == shutil.which("cc")
        assert made["compiler_version"]
        assert "-O1 -march=native -ffp-contract=fast -fwrapv" in made["flags"]

    def test_cpu_and_features_become_flags(self) -> None:
        options = {"cpu": "haswell", "features": "+aes,-avx2"}
        target = discover.target("host")
        flags = target.toolchain(target.options(codegen="c", **options))["flags"]
        assert "-march=haswell -maes -mno-avx2" in flags

    def test_code_for_another_machine_is_refused_by_this_compiler(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"generates code for x86_64.*not for aarch64"):
            xtc.driver.prepare(
                matmul_graph(), codegen="c", triple="aarch64-unknown-linux-gnu"
            ).build(tmp_path)


class TestErrors:
    def test_a_missing_compiler_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XTC_CC", "no-such-compiler")
        with pytest.raises(ToolError, match="needs the program 'no-such-compiler'") as caught:
            xtc.compile(matmul_graph(), codegen="c")
        assert "install a C compiler" in str(caught.value)

    def test_the_text_needs_no_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XTC_CC", "no-such-compiler")
        text = xtc.driver.prepare(matmul_graph(), codegen="c").stage_text("code")
        assert "void product(" in text

    def test_an_unknown_generator_is_refused(self) -> None:
        with pytest.raises(UserError, match="option 'codegen' of target 'host' cannot be 'cpp'"):
            xtc.compile(matmul_graph(), codegen="cpp")

    @pytest.mark.parametrize("name", ["remainder", "rand", "signbit", "INT_MAX", "f32x8"])
    def test_a_graph_named_like_a_c_function_is_refused(self, name: str) -> None:
        with pytest.raises(UserError, match=f"cannot be called '{name}'") as caught:
            xtc.compile(matmul_graph(name), codegen="c")
        assert f"call the graph {name}_graph" in str(caught.value)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["expf", "free", "NAN", "i", "product", "restrict", "f32x8"])
    def test_a_tensor_may_be_named_like_a_c_function(self, name: str) -> None:
        x = O.tensor((3, 40), "float32", name=name)
        with O.graph(name="product") as gb:
            O.softmax(O.exp(x), name="y")
        with xtc.compile(gb.graph, codegen="c") as module:
            module.check()

    @pytest.mark.slow
    def test_a_compiler_without_float16_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compiler = tmp_path / "cc"
        compiler.write_text(
            "#!/bin/sh\nfor last; do :; done\n"
            'if [ -f "$last" ] && grep -q _Float16 "$last"; then exit 1; fi\nexec cc "$@"\n'
        )
        compiler.chmod(0o755)
        monkeypatch.setenv("XTC_CC", str(compiler))
        xtc.compile(matmul_graph(), codegen="c").close()
        with pytest.raises(UserError, match="has no _Float16 for this machine") as caught:
            xtc.compile(matmul_graph(dtype="float16"), codegen="c")
        assert "generate code with LLVM" in str(caught.value)


@pytest.mark.slow
def test_failed_builds_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for in_memory in (False, True):
        xtc.compile(matmul_graph(), codegen="c", in_memory=in_memory).close()
    with pytest.raises(UserError):
        xtc.compile(matmul_graph("rand"), codegen="c")
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(("module", "xtc-c"))] == []
