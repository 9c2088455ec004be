# SPDX-License-Identifier: Apache-2.0
"""Options of targets: for devices, for code, and for live devices."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from xtc.core.errors import UserError
from xtc.interfaces.options import code_options, of_device, of_machine, options_of_device
from xtc_targets import mppa, null, nvgpu
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.null import NullDevice
from xtc_targets.nvgpu import NvgpuOptions


@dataclass(frozen=True)
class Example:
    cores: int = of_machine(4)
    timeout: float = of_device(1.0)
    unroll: int = 2


def test_options_without_effect_on_code_have_their_default() -> None:
    assert code_options(Example(8, 3.0, 5)) == Example(8, 1.0, 5)
    assert code_options("no dataclass") == "no dataclass"


def test_code_for_a_device_has_its_options_and_the_given_ones() -> None:
    assert options_of_device(Example(8, 3.0, 5), {}, "it") == Example(8, 3.0, 5)
    assert options_of_device(Example(8), {"unroll": 4, "cores": 8}, "it") == Example(8, unroll=4)


@pytest.mark.parametrize("given", [{"cores": 2}, {"timeout": 2.0}])
def test_options_that_contradict_the_device_are_refused(given: dict[str, float]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(UserError, match=f"option {name}={value} does not fit mppa0") as error:
        options_of_device(Example(), given, "mppa0")
    assert error.value.notes == (f"it has {name}={getattr(Example(), name)}",)
    assert error.value.hints == ("omit the option: the device determines it",)


def test_a_target_compiles_for_the_options_of_its_live_device() -> None:
    device = MppaDevice(MppaOptions(clusters=2, seed=7, double_buffer=False))
    options = mppa.TARGET.options_for(device, {"opt_level": 1})
    assert options == MppaOptions(clusters=2, seed=7, double_buffer=False, opt_level=1)
    with pytest.raises(UserError, match="option 'opt_level' of target 'mppa' cannot be 'fast'"):
        mppa.TARGET.options_for(device, {"opt_level": "fast"})


def test_a_device_of_another_target_is_refused() -> None:
    with pytest.raises(UserError, match=r"null\d+ does not run code of target 'nvgpu'"):
        nvgpu.TARGET.options_for(NullDevice(), {})


def test_the_runtime_of_a_target_has_its_options() -> None:
    options = NvgpuOptions(sim_schedule="shuffled", seed=3, memory_bytes=1 << 22)
    assert nvgpu.TARGET.runtime(options).options == options
    small = null.TARGET.options(memory_bytes=1 << 20, memories=2)
    assert null.TARGET.runtime(small).options == small
