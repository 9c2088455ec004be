# SPDX-License-Identifier: Apache-2.0
"""Assignment of operators to devices: several per graph, as objects or by name, with a target."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A, B, counted, matmul_graph
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.null import NullDevice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def relay(*devices: object) -> Graph:
    """A chain of operators, each on the next of `devices`, with a host operator in between."""
    y = O.tensor((4, 4), name="X")
    with O.graph(name="relay") as gb:
        for number, device in enumerate(devices):
            y = O.add(y, y, name=f"Y{number}", device=device)
        O.relu(y, name="Z")
    return gb.graph


class TestSeveral:
    def test_two_devices_of_one_target_share_a_graph(self) -> None:
        with (
            NullDevice() as first,
            NullDevice() as second,
            xtc.compile(relay(first, second, first)) as module,
        ):
            with (
                counted(first, launches=2, bytes_to_device=128, bytes_from_device=128),
                counted(second, launches=1, bytes_to_device=64, bytes_from_device=64),
            ):
                result = module(X)
            assert list(module.devices.values()) == [first, second]
            assert module.runtime is module.host
        np.testing.assert_allclose(result, np.maximum(8 * X, 0))

    def test_devices_of_different_targets_and_the_host_share_a_graph(self) -> None:
        with (
            MppaDevice() as mppa,
            NullDevice() as null,
            xtc.compile(relay(mppa, None, null, mppa)) as module,
        ):
            np.testing.assert_allclose(module(X), np.maximum(16 * X, 0))
            module.check()
            images = module.artifact.manifest.offload.images
            assert {name: image.target for name, image in images.items()} == {
                "mppa0": "mppa",
                "null0": "null",
            }
            assert (mppa.memory_info()[0], null.memory_info()[0]) == (0, 0)

    def test_each_device_gets_code_for_its_options(self) -> None:
        small = MppaOptions(clusters=2, pes=3)
        with (
            MppaDevice() as first,
            MppaDevice(small) as second,
            xtc.compile(relay(first, second)) as module,
        ):
            module.check()
            images = module.artifact.manifest.offload.images
        machines = [(images[name].toolchain["clusters"]) for name in ("mppa0", "mppa1")]
        assert machines == ["5", "2"]

    def test_arguments_may_live_on_each_device(self) -> None:
        with NullDevice() as first, NullDevice() as second:
            x, y = (
                O.tensor((4, 4), name="X", device=first),
                O.tensor((4, 4), name="Y", device=second),
            )
            with O.graph(name="pair") as gb:
                O.outputs(
                    O.add(x, y, name="S", device=first),
                    O.sub(x, y, name="D", device=second),
                )
            with xtc.compile(gb) as module:
                s, d = module(first.array(X), second.array(X))
                with pytest.raises(UserError, match=r"'X' lives on null0, and .* on null1>"):
                    module(second.array(X), second.array(X))
            assert (s.device, d.device) == (first, second)
            np.testing.assert_allclose(s.numpy(), 2 * X)
            np.testing.assert_allclose(d.numpy(), 0 * X)


class TestNames:
    def test_arguments_may_live_on_devices_without_operators(self) -> None:
        a, b = O.tensor((4, 4), name="A", device="mppa0"), O.tensor((4,), name="B", device="null0")
        with O.graph(name="g") as gb:
            O.gemv(a, b, name="Y")
        with xtc.compile(gb) as module:
            module.check()

    def test_named_devices_are_opened_and_closed(self) -> None:
        with xtc.compile(relay("null0", "null1")) as module:
            devices = dict(module.devices)
            module.check()
        assert list(devices) == ["null0", "null1"]
        assert [repr(device) for device in devices.values()] == [
            "<null0, closed>",
            "<null1, closed>",
        ]

    def test_a_name_without_a_number_is_device_0(self) -> None:
        assert matmul_graph("null").inputs[1].placement == matmul_graph("null0").inputs[1].placement

    def test_a_device_replaces_the_only_name(self) -> None:
        with NullDevice() as device, xtc.compile(relay("null7"), device) as module:
            assert module.devices == {"null7": device}
            with counted(device, launches=1, bytes_to_device=64, bytes_from_device=64):
                module(X)

    def test_code_is_compiled_for_the_device_that_replaces_a_name(self) -> None:
        small = MppaOptions(clusters=1, pes=2)
        with MppaDevice(small) as device, xtc.compile(relay("mppa4", "null0"), device) as module:
            assert module.devices["mppa4"] is device
            module.check()

    def test_a_device_replaces_its_own_name_among_several(self) -> None:
        with (
            NullDevice(),
            NullDevice() as first,
            xtc.compile(relay("null0", "null1"), first) as module,
        ):
            assert module.devices["null1"] is first
            module.check()

    def test_a_device_may_be_given_as_object_and_by_name(self) -> None:
        with (
            NullDevice() as device,
            xtc.compile(relay(device, device.device_name, device)) as module,
        ):
            assert module.devices == {"null0": device}
            with counted(device, launches=1, bytes_to_device=64, bytes_from_device=64):
                module(X)

    def test_two_devices_of_one_name_are_refused(self) -> None:
        old = NullDevice()
        old.close()
        with NullDevice() as new:
            assert new.device_name == old.device_name
            with pytest.raises(UserError, match="two devices have the name null0: one of them is"):
                xtc.compile(relay(old, new))

    def test_an_unknown_target_is_named_with_the_line(self) -> None:
        with pytest.raises(UserError, match="there is no target 'nul'") as failure:
            xtc.compile(matmul_graph("nul0"))
        assert str(failure.value.where).startswith("tests/unit/offload_support.py:")
        assert failure.value.hints == ("did you mean 'null'?",)

    @pytest.mark.parametrize("name", ["", "0", "null 0", "Null0", "null0/..", "null-1", "null0\n"])
    def test_an_invalid_device_name_is_refused(self, name: str) -> None:
        with pytest.raises(UserError, match=re.escape(f"{name!r} is not a device name")):
            O.tensor((2,), device=name)

    @pytest.mark.parametrize("device", [0, True, object(), NullDevice, ["null0"]])
    def test_an_object_that_is_not_a_device_is_refused(self, device: object) -> None:
        with pytest.raises(UserError, match=r"device=.* is not a device"):
            O.tensor((2,), device=device)


class TestTarget:
    def test_nothing_can_be_placed_on_the_host_by_name(self) -> None:
        with pytest.raises(
            UserError, match="host0 is not an accelerator: nothing can be placed there"
        ):
            xtc.compile(matmul_graph("host0"))

    def test_a_target_device_that_the_graph_does_not_use_is_refused(self) -> None:
        with pytest.raises(
            UserError, match="is compiled for 'mppa' but places nothing on it"
        ) as failure:
            xtc.compile(matmul_graph("null0"), "mppa")
        assert failure.value.notes == ("it uses: null",)

    def test_an_unused_device_is_refused(self) -> None:
        with NullDevice() as first, NullDevice() as second:
            with pytest.raises(UserError, match="'product' does not use null1, which") as failure:
                xtc.compile(matmul_graph(first), second)
            assert failure.value.notes == ("it uses: null0",)
            with pytest.raises(UserError, match="'relay' does not use null1, which"):
                xtc.compile(relay("null5", "null6"), second)

    def test_the_host_is_the_default_target(self) -> None:
        with NullDevice() as device:
            for target in ("host", "null", device):
                with xtc.compile(relay(device), target) as module:
                    assert module.artifact.manifest.target == "host"
                    module.check()

    def test_c_code_with_devices_is_refused(self) -> None:
        with pytest.raises(
            UserError, match="codegen='c' cannot generate code that commands devices"
        ):
            xtc.compile(relay("null0"), codegen="c")

    def test_in_memory_code_with_devices_is_refused(self) -> None:
        with pytest.raises(UserError, match="uses devices, whose code is loaded from files"):
            xtc.compile(matmul_graph("null0"), in_memory=True)


class TestOptions:
    def test_options_are_those_of_the_target(self) -> None:
        with xtc.compile(relay("null0", "mppa0"), "null", memory_bytes=4096) as module:
            assert module.devices["null0"].memory_info()[1] == 4096  # type: ignore[attr-defined]

    def test_an_option_that_contradicts_a_live_device_is_refused(self) -> None:
        with MppaDevice(MppaOptions(clusters=2)) as mppa:
            with pytest.raises(UserError, match="option clusters=3 does not fit mppa0") as failure:
                xtc.compile(matmul_graph(mppa), mppa, clusters=3)
            assert failure.value.notes == ("it has clusters=2",)
            with xtc.compile(matmul_graph(mppa), mppa, clusters=2, double_buffer=False) as module:
                module.check()
        with (
            NullDevice(memory_bytes=4096) as null,
            pytest.raises(UserError, match="option memory_bytes=5 does not fit null0"),
        ):
            xtc.compile(matmul_graph(null), "null", memory_bytes=5)

    def test_an_unknown_option_is_refused(self) -> None:
        with pytest.raises(UserError, match="target 'mppa' has no option 'cluster'"):
            xtc.compile(matmul_graph("mppa0"), "mppa", cluster=2)

    def test_code_for_another_machine_is_not_loaded(self, tmp_path: Path) -> None:
        with MppaDevice(MppaOptions(clusters=2)) as mppa:
            with xtc.compile(matmul_graph(mppa), mppa) as module:
                module.save(tmp_path / "saved")
            with (
                MppaDevice() as other,
                pytest.raises(xtc.XtcError, match="compiled for clusters 2, and mppa1 has 5"),
            ):
                xtc.load(tmp_path / "saved", other)


def test_a_graph_file_keeps_placements(tmp_path: Path) -> None:
    with NullDevice() as device:
        matmul_graph(device).save(tmp_path / "graph.yaml")
        with xtc.compile(Graph.load(tmp_path / "graph.yaml"), device) as module:
            np.testing.assert_allclose(module(A, device.array(B)).numpy(), A @ B)
