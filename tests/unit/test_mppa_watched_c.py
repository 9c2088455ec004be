# SPDX-License-Identifier: Apache-2.0
"""Device code from C reports its accesses to the simulator, so that a check detects wrong code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import DeviceFault
from xtc.graph.tensor import Tensor
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.mppa.generate_c import build_for_simulator

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

WATCHED = MppaOptions(sim_checks=True, codegen="c", opt_level=1)


@pytest.fixture
def device() -> Iterator[MppaDevice]:
    with MppaDevice(WATCHED) as watched:
        yield watched


def elementwise(device: MppaDevice) -> Tensor:
    return O.exp(O.tensor((16, 32), name="x", device=device), device=device)


def contraction(device: MppaDevice) -> Tensor:
    a, b = (O.tensor((32, 32), name=name, device=device) for name in "ab")
    return O.matmul(a, b, name="C", device=device)


def rows(device: MppaDevice) -> Tensor:
    """Rows longer than a cluster's memory, which are copied in parts."""
    return O.reduce_max(O.tensor((2, 1 << 20), name="x", device=device), axes=1, device=device)


UNPACKED = {
    "@memories": {"mx": 1},
    "@pes over @memories": {"px": 1, "psx": 16},
    "C": ["i=distribute:psx", "j", "k"],
}
"""Each PE reads rows of DDR where they are."""


def launch(
    device: MppaDevice,
    write: Callable[[MppaDevice], Tensor],
    folder: Path,
    old: str,
    new: str,
    *,
    schedule: object = None,
    kernel: str = "wrong_mppa0_0",
) -> None:
    """Run a kernel of a graph, the first one by default, with `old` replaced by `new` in its C."""
    with O.graph(name="wrong") as gb:
        write(device)
    with xtc.compile(gb.graph, target=device, schedule=schedule) as module:
        code = module.ir("code").partition("# mppa0\n")[2]
        assert code.count(old) == 1
        source = folder / "wrong.c"
        source.write_text(code.replace(old, new))
        build_for_simulator(source, WATCHED, folder / "wrong.so")
        image = device.load_module((folder / "wrong.so").read_bytes())
        function = device.get_module_function(image, kernel)
        tensors = (*gb.graph.inputs, *gb.graph.outputs)
        device.launch(function, [device.zeros(t.type.sizes, t.dtype) for t in tensors])


@pytest.mark.parametrize(
    ("write", "old", "new", "what"),
    [
        (
            elementwise,
            "j < 8",
            "j < 9",
            "race in SMEM: nothing orders this write and a write by",
        ),
        (elementwise, " * 8;", " * 40;", "of 4 bytes outside its buffer in SMEM, 512 bytes from"),
        (
            contraction,
            "_f32(16,",
            "_f32(17,",
            "read of 16 bytes that a DMA transfer in flight writes",
        ),
        (
            contraction,
            "(product_1 + product) * 4",
            "product_1 * 4",
            "race in SMEM: nothing orders this",
        ),
        (
            contraction,
            "sum_2, 16);",
            "sum_2, 90);",
            "of 16 bytes outside its buffer in SMEM, 1024",
        ),
        (rows, "j < 131072", "j < 131073", "read of 4 bytes that a DMA transfer in flight writes"),
    ],
)
def test_wrong_code_is_a_located_fault(
    device: MppaDevice,
    tmp_path: Path,
    write: Callable[[MppaDevice], Tensor],
    old: str,
    new: str,
    what: str,
) -> None:
    launch(device, write, tmp_path, old, old)
    with pytest.raises(
        DeviceFault, match=rf"kernel 'wrong_mppa0_0' on cluster \d+, PE \d+.*{what}"
    ):
        launch(device, write, tmp_path, old, new)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("(k + i * 32 + pe * 64) * 4", "(k + i * 32 + pe * 65) * 4", "read"),
        ("(k * 32 + j) * 4", "(k * 33 + j) * 4", "read"),
        ("(j + i * 32 + pe * 64) * 4", "(j + i * 32 + pe * 65) * 4", "(read|write)"),
    ],
)
def test_an_overrun_of_an_array_in_ddr_is_a_fault(
    device: MppaDevice, tmp_path: Path, old: str, new: str, what: str
) -> None:
    def run(new: str) -> None:
        launch(device, contraction, tmp_path, old, new, schedule=UNPACKED, kernel="wrong_mppa0_1")

    run(old)
    with pytest.raises(
        DeviceFault,
        match=rf"PE \d+: {what} of 4 bytes outside its buffer in DDR, which ends at 0x",
    ):
        run(new)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_correct_code_passes_and_unchecked_code_reports_nothing(dtype: str) -> None:
    with MppaDevice(MppaOptions(codegen="c", opt_level=1)) as mppa:
        a, b = (O.tensor((33, 40), dtype, name=name, device=mppa) for name in "ab")
        with O.graph(name="checked") as gb:
            product = O.matmul(a, b, transpose_b=True, device=mppa)
            O.relu(O.transpose(product, device=mppa), device=mppa)
        with xtc.compile(gb.graph, target=mppa) as module:
            assert "dev_access" not in module.ir("code")
            module.check(*(np.eye(33, 40).astype(dtype) for _ in "ab"))
