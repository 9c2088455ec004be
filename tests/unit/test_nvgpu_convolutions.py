# SPDX-License-Identifier: Apache-2.0
"""Convolutions on a GPU: as multiplications of matrices, with their epilogues, like NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import gpu, machine_code, needs_nvdisasm, ptx_of
from tests.unit.tensor_core_contractions import EVENTS, bias_and_relu, residual
from tests.unit.test_nvgpu_tiles import counted
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

COUNT = max(6, settings().max_examples // 20)
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution of square images and windows."""

    batch: int
    size: int
    channels: int
    window: int
    filters: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1


LAYER = Convolution(2, 14, 32, 3, 64, padding=1)


@pytest.fixture(scope="module")
def devices() -> Iterator[list[NvgpuDevice]]:
    """Both generations of tensor cores, in the order that exposes races, and with their report."""
    with (
        NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as hopper,
        NvgpuDevice(NvgpuOptions(arch="sm_80", sim_races=True)) as ampere,
    ):
        yield [hopper, ampere]


def graph(
    sizes: Convolution, dtype: str, then: Callable[[Tensor], Tensor] | None = None
) -> xtc.Graph:
    """A convolution and what follows it."""
    x = O.tensor((sizes.batch, sizes.size, sizes.size, sizes.channels), dtype, name="X")
    w = O.tensor((sizes.window, sizes.window, sizes.channels, sizes.filters), dtype, name="W")
    with O.graph(name="conv") as built:
        y = O.conv2d(
            *(x, w),
            stride=sizes.stride,
            padding=sizes.padding,
            dilation=sizes.dilation,
            name="Y",
        )
        if then is not None:
            then(y)
    return built.graph


def gated(y: Tensor) -> Tensor:
    """A factor for each image and channel, which no matrix of pixels has."""
    shape = (y.shape[0], 1, 1, y.shape[3])
    return O.mul(y, O.tensor(shape, str(y.dtype), name="gate"), name="Z")


@given(
    sizes=st.builds(
        Convolution,
        batch=st.integers(1, 3),
        size=st.integers(7, 15),
        channels=st.sampled_from([1, 3, 8, 12, 16, 32]),
        window=st.integers(1, 3),
        filters=st.sampled_from([8, 16, 24, 33, 64]),
        stride=st.integers(1, 2),
        padding=st.integers(0, 2),
        dilation=st.integers(1, 2),
    ),
    dtype=st.sampled_from(["float16", "bfloat16", "float32", "int8"]),
    then=st.sampled_from([None, bias_and_relu, residual, gated]),
    number=st.integers(0, 1),
)
@settings(max_examples=COUNT, deadline=None)
def test_convolutions_agree_with_numpy(
    devices: list[NvgpuDevice],
    sizes: Convolution,
    dtype: str,
    then: Callable[[Tensor], Tensor] | None,
    number: int,
) -> None:
    then = None if dtype == "int8" else then
    with xtc.compile(graph(sizes, dtype, then), target=devices[number]) as module:
        module.check()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("then", [None, bias_and_relu, residual])
def test_a_layer_runs_on_tensor_cores_with_its_epilogue(
    devices: list[NvgpuDevice], dtype: str, then: Callable[[Tensor], Tensor] | None
) -> None:
    for device in devices:
        events = counted(device, graph(LAYER, dtype, then))
        assert sum(events[name] for name in EVENTS) >= 2 * 14 * 14 * 288 * 64 // (16 * 8 * 16)
        # The patches, of the image without a border of zeros, and the contraction.
        assert events["LAUNCHES"] == 2


def test_patches_are_copied_by_16_bytes_from_the_image_without_its_border(
    devices: list[NvgpuDevice],
) -> None:
    rows = LAYER.batch * LAYER.size**2
    taps, result = rows * 9 * LAYER.channels * 2 // 16, rows * LAYER.filters * 2 // 16
    for device in devices:
        events = counted(device, graph(LAYER, "float16"))
        assert events["GLOBAL_WRITES"] == taps + result
        assert events["GLOBAL_WRITE_BYTES"] == 16 * (taps + result)
        assert events["GLOBAL_READ_BYTES"] - events["ASYNC_COPY_BYTES"] == 16 * taps


def test_patches_of_three_channels_are_padded_while_they_are_copied(
    devices: list[NvgpuDevice],
) -> None:
    sizes = Convolution(1, 31, 3, 7, 64, stride=2, padding=3)
    for device in devices:
        events = counted(device, graph(sizes, "float16", bias_and_relu))
        assert events["LAUNCHES"] == 3  # the patches, the padded filters, and the contraction
        rows, taps = 16 * 16, 152
        assert events["GLOBAL_WRITE_BYTES"] == 2 * (rows * taps + taps * 64 + rows * 64)


@pytest.mark.parametrize("channels", [3, 32])
def test_a_border_of_another_value_is_in_the_windows_only(
    devices: list[NvgpuDevice], channels: int
) -> None:
    x = O.tensor((1, 14, 14, channels), "float16", name="X")
    w = O.tensor((3, 3, channels, 32), "float16", name="W")
    with O.graph(name="bordered") as built:
        around = O.pad(x, ((0, 0), (2, 1), (1, 3), (0, 0)), value=3.0)
        O.conv2d(around, w, stride=2, name="Y")
    for device in devices:
        events = counted(device, built.graph)
        assert events["LAUNCHES"] == (2 if channels == 32 else 3)


def test_a_padded_image_that_others_read_stays(devices: list[NvgpuDevice]) -> None:
    x = O.tensor((1, 12, 12, 16), "float16", name="X")
    w = O.tensor((3, 3, 16, 32), "float16", name="W")
    with O.graph(name="shared") as built:
        around = O.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        O.outputs(O.conv2d(around, w, name="Y"), O.exp(around, name="E"))
    assert counted(devices[1], built.graph)["LAUNCHES"] == 5


def test_windows_of_one_pixel_are_not_copied(devices: list[NvgpuDevice]) -> None:
    sizes = Convolution(1, 14, 64, 1, 128)
    events = counted(devices[0], graph(sizes, "float16", bias_and_relu))
    assert events["LAUNCHES"] == 1


def test_layers_stay_matrices_between_convolutions(devices: list[NvgpuDevice]) -> None:
    def second(y: Tensor) -> Tensor:
        w = O.tensor((1, 1, 64, 32), "float16", name="V")
        return O.relu(O.conv2d(bias_and_relu(y), w))

    events = counted(devices[0], graph(Convolution(1, 16, 64, 1, 64), "float16", second))
    assert events["LAUNCHES"] == 2


def test_float32_convolutions_read_tiles_in_shared_memory(devices: list[NvgpuDevice]) -> None:
    events = counted(devices[0], graph(LAYER, "float32"))
    multiply_adds = 2 * 14 * 14 * 288 * 64
    assert events["GLOBAL_READ_BYTES"] < multiply_adds  # 8 bytes for each of them without tiles


@needs_nvdisasm
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_machine_code_of_a_layer_has_vectors_and_tensor_cores(arch: str, tmp_path: Path) -> None:
    code = machine_code(ptx_of(graph(LAYER, "float16", bias_and_relu), gpu(arch)), arch, tmp_path)
    kernels = code.opcodes_of_kernels().values()
    (patches,) = (found for found in kernels if not any("MMA" in name for name in found))
    accesses = {name: count for name, count in patches.items() if name.startswith(("LDG", "STG"))}
    assert accesses == {"LDG.E.128.CONSTANT": 1, "STG.E.128": 1}
    assert len(kernels) == 2
    assert not any(code.spilled_bytes.values())
