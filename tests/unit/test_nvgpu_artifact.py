# SPDX-License-Identifier: Apache-2.0
"""Artifacts for a GPU: always PTX, and machine code if NVIDIA's assembler is installed."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import gpu, needs_ptxas
from xtc.core.errors import CompileError, ToolError, UserError
from xtc.driver import prepare
from xtc.interfaces.offload import DeviceImage
from xtc_targets.nvgpu import NvgpuOptions, toolkit

PTX, CUBIN = 1, 2  # kinds of a fat binary's parts


def one_operator() -> xtc.Graph:
    x = O.tensor((8,), name="X")
    with O.graph(name="f") as graph:
        O.relu(x, name="Y")
    return graph.graph


def built(folder: Path, arch: str, **options: Any) -> tuple[DeviceImage, bytes]:
    """The manifest's entry for the device, and its image."""
    artifact = prepare(one_operator(), target=gpu(arch), **options).build(folder)
    (image,) = artifact.manifest.offload.images.values()
    return image, (folder / image.file).read_bytes()


def parts(image: bytes) -> list[tuple[int, int]]:
    """Kind and architecture of each part of a fat binary."""
    magic, _, start, nbytes = struct.unpack_from("<IHHQ", image)
    assert magic == 0xBA55ED50
    found, end = [], start + nbytes
    while start < end:
        kind, _, head, content = struct.unpack_from("<HHIQ", image, start)
        (arch,) = struct.unpack_from("<I", image, start + 28)
        found.append((kind, arch))
        start += head + content
    return found


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without NVIDIA's programs."""
    monkeypatch.setattr(toolkit, "_folders", lambda: iter(()))
    monkeypatch.delenv("XTC_CUDA_ROOT", raising=False)


@pytest.mark.slow
@needs_ptxas
@pytest.mark.parametrize(
    ("arch", "cubins", "expected"),
    [
        ("sm_90a", "auto", [(CUBIN, 90), (PTX, 90)]),
        ("sm_80", "auto", [(CUBIN, 80), (PTX, 80)]),
        ("sm_80", ("sm_80", "sm_90", "sm_80"), [(CUBIN, 80), (CUBIN, 90), (PTX, 80)]),
        ("sm_80", ("sm_86",), [(CUBIN, 86), (PTX, 80)]),
    ],
)
def test_machine_code_and_ptx_are_in_one_file(
    arch: str, cubins: Any, expected: list[tuple[int, int]], tmp_path: Path
) -> None:
    image, content = built(tmp_path, arch, cubins=cubins)
    assert image.file.endswith(".fatbin")
    assert parts(content) == expected
    assert image.toolchain["assembler"].startswith("ptxas 1")


@pytest.mark.slow
@needs_ptxas
def test_images_are_deterministic(tmp_path: Path) -> None:
    device = gpu("sm_80")
    images = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        prepare(one_operator(), target=device).build(tmp_path / name)
        images.append((tmp_path / name / f"{device.device_name}.fatbin").read_bytes())
    assert images[0] == images[1]


@pytest.mark.slow
def test_ptx_alone_needs_none_of_nvidias_programs(tmp_path: Path, bare: None) -> None:
    for number, cubins in enumerate(("auto", "none")):
        folder = tmp_path / str(number)
        folder.mkdir()
        image, content = built(folder, "sm_90a", cubins=cubins)
        assert image.file.endswith(".ptx")
        assert b".target sm_90a\n" in content
        assert image.toolchain["cubins"] == "none"


def test_a_missing_required_assembler_is_named(tmp_path: Path, bare: None) -> None:
    with pytest.raises(ToolError) as error:
        built(tmp_path, "sm_80", cubins=("sm_80",))
    assert str(error.value) == (
        "generating machine code for sm_80 needs NVIDIA's program 'ptxas', which was not found\n"
        "  note: searched: the packages of this Python, the path and /usr/local/cuda\n"
        "  hint: pip install nvidia-cuda-nvcc, or name a CUDA toolkit in XTC_CUDA_ROOT"
    )
    assert not list(tmp_path.glob("nvgpu*"))


def test_an_invalid_toolkit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CUDA_ROOT", str(tmp_path))
    with pytest.raises(ToolError) as error:
        built(tmp_path, "sm_80")
    assert str(error.value) == (
        f"XTC_CUDA_ROOT is {tmp_path}, which does not contain 'bin/ptxas'\n"
        "  hint: unset it, or name the folder of a CUDA toolkit: /usr/local/cuda"
    )


def test_the_named_toolkit_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ptxas"
    program.write_text("#!/bin/sh\necho 'ptxas fatal: no' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("XTC_CUDA_ROOT", str(tmp_path))
    (tmp_path / "code.ptx").write_text("")
    with pytest.raises(CompileError, match="ptxas ended with exit code 1") as error:
        toolkit.assemble(tmp_path / "code.ptx", "sm_80", tmp_path / "code.cubin")
    assert error.value.notes[-1].endswith("ptxas:\nptxas fatal: no")
    assert error.value.hints == (
        "with cubins='none', the GPU's driver generates machine code when it loads the PTX",
    )


@needs_ptxas
def test_errors_quote_the_assembler(tmp_path: Path) -> None:
    (tmp_path / "bad.ptx").write_text(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { no.such; }\n"
    )
    with pytest.raises(CompileError, match=r"^generating machine code for sm_80 failed: .*ptxas"):
        toolkit.assemble(tmp_path / "bad.ptx", "sm_80", tmp_path / "bad.cubin")


@needs_ptxas
def test_an_unknown_chip_quotes_the_assembler(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"^generating machine code for sm_99 failed") as error:
        built(tmp_path, "sm_80", cubins=("sm_99",))
    assert "sm_99" in error.value.notes[-1]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"cubins": ("sm_80",)}, r"cubins=\('sm_80',\) is not for platform 'sim'"),
        ({"platform": "hw", "cubins": ("turing",)}, "'turing' is not the name of a chip"),
        ({"platform": "hw", "cubins": ("sm_80",)}, "code for sm_90a does not run on sm_80"),
        ({"platform": "hw", "cubins": ("sm_100",)}, "code for sm_90a does not run on sm_100"),
        (
            {"platform": "hw", "arch": "sm_80", "cubins": ("sm_75",)},
            "code for sm_80 does not run on sm_75",
        ),
    ],
)
def test_incompatible_chips_are_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(UserError, match=what):
        NvgpuOptions(**given)


def test_chips_are_given_on_the_command_line() -> None:
    from xtc_targets.nvgpu import TARGET

    assert TARGET.option_values({"cubins": "sm_80,sm_90"}) == {"cubins": ("sm_80", "sm_90")}
    assert TARGET.option_values({"cubins": "none"}) == {"cubins": "none"}
