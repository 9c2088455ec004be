# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

import xtc_targets.host as host
from xtc.core.errors import UserError
from xtc_targets.host import TARGET, bandwidth, device, peak
from xtc_targets.host.bandwidth import STEP, loaded_sum, memory_bandwidth

SMALL = 1 << 20


def test_the_loop_reads_every_element() -> None:
    values = np.arange(5 * STEP, dtype=np.int64)
    with loaded_sum() as function:
        assert function(values.size, values.ctypes.data) == values.sum()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_rate_is_plausible(threads: int) -> None:
    # An optimizer that deletes the loop would give rates far above any machine's.
    assert 0 < memory_bandwidth(threads, SMALL) < 1e14


def test_a_process_measures_once() -> None:
    assert memory_bandwidth(1, SMALL) == memory_bandwidth(1, SMALL)


def test_a_runtime_without_code_has_the_threads_of_its_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bandwidth, "memory_bandwidth", lambda threads: 10.0 * threads)
    monkeypatch.setattr(peak, "peak_flops", lambda dtype, threads: 100.0 * threads)
    monkeypatch.setattr(device, "usable_cores", lambda: 3)
    monkeypatch.setattr(host, "threads_to_use", lambda _: 3)
    for given, cores in ((None, 3), (2, 2), (8, 3)):
        with TARGET.runtime(TARGET.options(threads=given)) as runtime:
            assert runtime.memory_bandwidth() == 10.0 * cores
            assert runtime.peak_flops("float32") == 100.0 * cores


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"threads": 0}, "threads is 0"), ({"nbytes": 8}, "nbytes=8 is too small")],
)
def test_invalid_arguments_are_refused(arguments: dict[str, int], text: str) -> None:
    with pytest.raises(UserError, match=text):
        memory_bandwidth(**arguments)
