# SPDX-License-Identifier: Apache-2.0
"""Equal operators of a graph share a kernel; profiles and faults name the operator of a launch."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import DeviceFault
from xtc.graph.graph import Graph
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

SIZE, LAYERS = 64, 6


def layers(count: int, device: object) -> Graph:
    """Equal layers with different weights, and one of another size at the end."""
    x = O.tensor((SIZE, SIZE), "bfloat16", name="x", device=device)
    with O.graph(name="net") as gb:
        for number in range(count):
            columns = SIZE if number < count - 1 else 2 * SIZE
            w = O.tensor((SIZE, columns), "bfloat16", name=f"w{number}", device=device)
            product = O.matmul(x, w, name=f"product{number}", device=device)
            x = O.gelu(product, name=f"layer{number}", device=device)
    return gb.graph


def arrays(graph: Graph) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    rng = np.random.default_rng(0)
    return {
        str(tensor.name): (rng.standard_normal(tensor.type.sizes) / 8).astype(ml_dtypes.bfloat16)
        for tensor in graph.inputs
    }


def test_a_profile_has_each_launch_of_a_shared_kernel() -> None:
    with NvgpuDevice(NvgpuOptions()) as gpu, xtc.compile(layers(LAYERS, gpu), gpu) as module:
        kernels = module.artifact.manifest.offload.kernels
        operators = [f"layer{number}" for number in range(LAYERS)]
        assert [kernel.operator for kernel in kernels] == operators
        assert len({kernel.symbol for kernel in kernels}) == 2
        profile = module.profile()
        (device,) = profile.devices
        assert {operator.name for operator in device.operators} == set(operators)
        flops = {operator.flops for operator in device.operators[: LAYERS - 1]}
        assert len(flops) == 1
        assert flops != {0}
        launched = [span.name for span in profile.spans if span.kernel]
        assert launched == operators


def test_shared_kernels_compute_what_separate_ones_do() -> None:
    graph = layers(LAYERS, None)
    given = arrays(graph)
    with xtc.compile(graph, "nvgpu") as module:
        value = module(**given)
    x = given["x"]
    for number in range(LAYERS):
        with O.graph(name="layer") as gb:
            a = O.tensor(x.shape, "bfloat16", name="a")
            b = O.tensor(given[f"w{number}"].shape, "bfloat16", name="b")
            O.gelu(O.matmul(a, b))
        with xtc.compile(gb.graph, "nvgpu") as alone:
            x = alone(x, given[f"w{number}"])
    assert x.tobytes() == value.tobytes()


def test_a_fault_names_the_operator_of_the_launch() -> None:
    with NvgpuDevice(NvgpuOptions()) as gpu:
        graph = layers(LAYERS, gpu)
        with xtc.compile(graph, gpu) as module:
            given = {name: gpu.array(value) for name, value in arrays(graph).items()}
            gpu.memory_free(given["w3"].address)
            with pytest.raises(DeviceFault) as failed:
                module(**given)
    assert "kernel 'net_nvgpu0_0'" in failed.value.what
    assert "the kernel was launched for operator 'layer3'" in failed.value.notes


def test_a_profile_lists_the_operators_of_an_epilogue_on_their_device() -> None:
    a, b = O.tensor((32, 64), "float16", name="A"), O.tensor((64, 48), "float16", name="B")
    with O.graph(name="layer") as gb:
        O.relu(O.add(O.matmul(a, b), 1.0), name="Y")
    with NvgpuDevice() as gpu, xtc.compile(gb.graph, target=gpu) as module:
        profile = module.profile(repeat=1)
    (computed,) = profile.devices[0].operators
    assert (computed.name, computed.computes) == ("Y", ("matmul", "add", "relu"))
    assert not profile.operators  # on the host
