# SPDX-License-Identifier: Apache-2.0
"""Images for Kalray's platforms are built by the commands of its compiler; errors list what does
not fit.

A stand-in compiler records its arguments, removes those that only the vendor's compiler knows, and
calls this machine's compiler, so that the C and `dev_kvx.c` can run here.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.mppa_code_support import KERNELS, lowered, stage_text
from xtc.core.errors import CompileError, DeviceNotFound, ToolError, UserError
from xtc.ir.mlir import single_threaded_context
from xtc_targets.mppa import MppaDevice
from xtc_targets.mppa.build import build_image, code
from xtc_targets.mppa.description import MACHINES
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.simulator import OWN_CSRC

STAND_IN = Path(__file__).parent / "mppa_toolchain"
COMPILER = f"""#!{sys.executable}
import json, pathlib, subprocess, sys
with open(pathlib.Path(__file__).parents[1] / "calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
words = [one for one in sys.argv[1:] if not one.startswith(("-march", "-fstack", "-fvect"))]
if "-shared" in words:  # this process may have another library's calls of dev.h
    words.append("-Wl,-Bsymbolic")
sys.exit(subprocess.call(["cc", "-I{STAND_IN}", "-Wall", "-Wextra", "-Werror", "-pthread", *words]))
"""


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "toolchain"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "kvx-cos-gcc").write_text(COMPILER)
    (folder / "bin" / "kvx-cos-gcc").chmod(0o755)
    monkeypatch.setenv("KALRAY_TOOLCHAIN_DIR", str(folder))
    return folder


def build(name: str, folder: Path, **options: Any) -> str:
    folder.mkdir(exist_ok=True)
    chosen = MppaOptions(**options)
    with single_threaded_context():
        module = lowered((KERNELS / f"{name}.mlir").read_text(), chosen)
        return build_image(module, chosen, folder, "device")


def run_on_every_cluster(library: Path, kernel: str, arrays: list[Any]) -> None:
    loaded = ctypes.CDLL(str(library))
    arguments = (ctypes.c_uint64 * len(arrays))(*(array.ctypes.data for array in arrays))
    for cluster in range(5):
        ctypes.c_uint32.in_dll(loaded, "stand_in_cluster").value = cluster
        getattr(loaded, kernel)(arguments)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["hw", "iss", "qemu"])
def test_the_vendors_compiler_is_called(platform: str, toolchain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert build("matmul_k_loop", out, platform=platform, arch="kv3-1") == "device.so"
    calls = [json.loads(line) for line in (toolchain / "calls").read_text().splitlines()]
    flags = ["-O2", "-fPIC", "-march=kv3-1", "-DBUILD_ID=0"]
    flags += ["-fvect-cost-model=cheap", "-fstack-limit-register=sr", "-c"]
    link = ["-shared", "-fPIC", "-march=kv3-1", "-Wl,-soname=device.so"]
    link.append(f"-Wl,-T,{out / 'dev_kvx.ld'}")
    assert calls == [
        [*flags, str(out / "device.c"), "-o", str(out / "device.o")],
        [*flags, str(out / "dev_kvx.c"), "-o", str(out / "dev_kvx.o")],
        [*link, str(out / "device.o"), str(out / "dev_kvx.o"), "-o", str(out / "device.so")],
    ]


@pytest.mark.slow
def test_the_device_side_of_dev_h_runs_kernels(toolchain: Path, tmp_path: Path) -> None:
    build("matmul_k_loop", tmp_path / "out", platform="hw")
    a, b = np.random.default_rng(3).integers(-8, 8, (2, 96, 64)).astype(np.float32)
    b, c = b[:64].copy(), np.zeros((96, 64), np.float32)
    run_on_every_cluster(tmp_path / "out" / "device.so", "mm_mppa0_0", [a, b, c])
    assert np.array_equal(c, a @ b)


def test_a_missing_toolchain_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KALRAY_TOOLCHAIN_DIR", raising=False)
    with pytest.raises(DeviceNotFound, match="KALRAY_TOOLCHAIN_DIR is not set"):
        build("matmul_k_loop", tmp_path / "out", platform="hw")


def test_errors_quote_the_vendors_compiler(toolchain: Path, tmp_path: Path) -> None:
    (toolchain / "bin" / "kvx-cos-gcc").write_text("#!/bin/sh\necho no license >&2\nexit 3\n")
    with pytest.raises(ToolError, match="compiling device code by kvx-cos-gcc") as error:
        build("matmul_k_loop", tmp_path / "out", platform="hw")
    assert "no license" in str(error.value)


@pytest.mark.slow
def test_the_code_is_printed_as_c_or_assembly() -> None:
    text = (KERNELS / "matmul_k_loop.mlir").read_text()
    with single_threaded_context():
        by_c = MppaOptions(platform="hw")
        c = code(lowered(text, by_c), by_c, "mppa")
        assembly = code(lowered(text, MppaOptions()), MppaOptions(), "mppa")
    assert "dev_pe_launch(mm_mppa0_0_pe1_run, &context_1, 16);" in c
    assert "void mm_mppa0_0(const uint64_t *arguments)\n{" in c
    assert "mm_mppa0_0:" in assembly
    assert "dev_dma_2d" in assembly


@pytest.mark.slow
def test_the_code_stage_prints_host_and_device_code() -> None:
    with MppaDevice() as device:
        x = O.tensor((64,), "float32", name="x", device=device)
        with O.graph(name="roots") as gb:
            O.sqrt(x, name="y", device=device)
        for codegen, sign in (("c", "void roots_mppa0_0("), ("llvm", "roots_mppa0_0:")):
            prepared = xtc.driver.prepare(gb.graph, target=device, codegen=codegen)
            assert prepared.stage_text("code").count(sign) == (2 if codegen == "c" else 1)


BUFFER = "memref.alloc() : memref<{}x1024xf32, 2>"


@pytest.fixture
def reproducers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the modules of failing passes with the other files of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def kernel(body: str, argument: str = "memref<8xf32, 1>") -> str:
    return f"func.func @k(%A: {argument}) {{ {body} return }}"


@pytest.mark.usefixtures("reproducers")
def test_buffers_that_do_not_fit_are_listed() -> None:
    used = "linalg.fill ins(%x : f32) outs(%{} : memref<{}x1024xf32, 2>)"
    body = "%x = arith.constant 0.0 : f32\n"
    for name, rows in (("a", 900), ("b", 60), ("c", 1)):
        body += f"%{name} = {BUFFER.format(rows)}\n"
    for _ in range(2):
        body += "\n".join(used.format(*row) for row in (("a", 900), ("b", 60), ("c", 1))) + "\n"
    with pytest.raises(UserError, match="needs 3936256 bytes of local memory") as error:
        stage_text(kernel(body))
    assert error.value.notes[0] == "3686400 bytes: memref<900x1024xf32>"
    assert len(error.value.notes) == 3
    assert "choose smaller tiles" in error.value.hints
    stage_text(kernel(body.replace("60x1024", "59x1024").replace("60)", "59)")))


@pytest.mark.usefixtures("reproducers")
def test_clusters_cannot_wait_for_each_other() -> None:
    number = "%x = arith.constant 0.0 : f32\n"
    fill = "linalg.fill ins(%x : f32) outs(%A : memref<8xf32, 1>)\n"
    loop = f"scf.forall (%i) in (5) {{ {fill} }} {{mapping = [#gpu.block<linear_dim_0>]}}\n"
    for wrong in (loop * 2, f"scf.forall (%o) in (2) {{ {loop} }}\n"):
        with pytest.raises(CompileError, match="a loop over clusters is not its only loop nest"):
            stage_text(kernel(number + wrong))
    with pytest.raises(CompileError, match=r"linalg\.fill is beside its loop over clusters"):
        stage_text(kernel(number + fill + loop))


@pytest.mark.usefixtures("reproducers")
def test_a_dynamic_size_needs_a_bound() -> None:
    body = """%n = memref.load %A[] : memref<index, 1>
        %x = arith.constant 0.0 : f32
        %a = memref.alloc(%n) : memref<?xf32, 2>
        linalg.fill ins(%x : f32) outs(%a : memref<?xf32, 2>)"""
    with pytest.raises(CompileError, match="the size of a buffer has no limit"):
        stage_text(kernel(body, "memref<index, 1>"))


def test_the_device_side_reserves_the_memory_of_kernels() -> None:
    for machine in MACHINES.values():
        kib = machine.smem_usable_bytes >> 10
        assert f"#define SMEM_BYTES ({kib} << 10)" in (OWN_CSRC / "dev_kvx.c").read_text()
        assert f". += {machine.clusters} * {kib}K;" in (OWN_CSRC / "dev_kvx.ld").read_text()


@pytest.mark.slow
def test_each_cluster_has_its_own_memory_in_one_image(toolchain: Path, tmp_path: Path) -> None:
    build("matmul_k_loop", tmp_path / "out", platform="hw")
    loaded = ctypes.CDLL(str(tmp_path / "out" / "device.so"))
    loaded.dev_smem.restype = ctypes.c_uint64
    cluster = ctypes.c_uint32.in_dll(loaded, "stand_in_cluster")
    places: list[int] = []
    for machine in MACHINES.values():
        places.clear()
        for number in range(machine.clusters):
            cluster.value = number
            places.append(loaded.dev_smem())
            ctypes.memset(places[-1], number + 1, machine.smem_usable_bytes)
        ends = {ctypes.string_at(p + machine.smem_usable_bytes - 1, 1)[0] for p in places}
        assert {ctypes.string_at(place, 1)[0] for place in places} == ends == {1, 2, 3, 4, 5}
        assert all(place % 64 == 0 for place in places)
