# SPDX-License-Identifier: Apache-2.0
"""The networks of the benchmarks, small, against NumPy."""

from __future__ import annotations

import pytest

import xtc
from benchmarks.networks import NETWORKS

CHECKED = ("resnet50", "mobilenetv2", "gpt2_step", "unet")
"""One of each kind; all of them with --long."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_small_networks_compute_what_numpy_does(name: str, is_long: bool) -> None:
    graph = NETWORKS[name](True)
    if name not in CHECKED and not is_long:
        assert graph.outputs
        return
    with xtc.compile(graph) as module:
        module.check()
