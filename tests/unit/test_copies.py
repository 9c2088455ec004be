# SPDX-License-Identifier: Apache-2.0
"""Calls of random graphs on several devices copy no byte more than necessary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.random_graphs import graphs, inputs_of
from xtc.graph.fold_constants import fold_constants
from xtc.graph.tensor import Tensor
from xtc.runtime import DriverDevice
from xtc_targets.mppa import MppaDevice
from xtc_targets.null import NullDevice

# 6 graphs in every run, 1,000 in a long one, each with two directions for three devices.
PARTS, COUNT = (10, 100) if settings().max_examples > 100 else (1, 6)

Home = DriverDevice | None
"""Where a tensor is; None is the host."""


@pytest.fixture(scope="module")
def devices() -> Iterator[list[DriverDevice]]:
    with MppaDevice() as first, MppaDevice() as second, NullDevice() as third:
        yield [first, second, third]


def stored(tensor: Tensor) -> Tensor:
    """The tensor with the same elements in the same order, possibly in another shape."""
    while tensor.producer is not None and tensor.producer.op.name == "reshape":
        tensor = tensor.producer.inputs[0]
    return tensor


def home(tensor: Tensor) -> Home:
    placement = tensor.placement if tensor.producer is None else tensor.producer.placement
    return placement.device if placement else None  # type: ignore[return-value]


def least_bytes(graph: xtc.Graph, device: DriverDevice) -> tuple[int, int]:
    """The minimal number of bytes that a call copies to a device and from it.

    Every tensor is copied at most once, through the host. Constants are never copied, nor are
    constants that the host casts, pads or concatenates.
    """
    graph = fold_constants(graph)
    needs: set[tuple[Tensor, Home]] = set()
    for node in graph.nodes:
        if node.op.name != "reshape":
            needs |= {(stored(tensor), home(node.output)) for tensor in node.inputs}
    given = {(stored(tensor), home(tensor)) for tensor in graph.outputs}
    moved = {
        (tensor, at)
        for tensor, at in needs | given
        if home(tensor) is not at and tensor.const is None
    }
    sent = {tensor for tensor, at in moved if at is device}
    fetched = {tensor for tensor, _ in moved if home(tensor) is device}
    return sum(t.type.nbytes for t in sent), sum(t.type.nbytes for t in fetched)


def copied_bytes(device: DriverDevice) -> tuple[int, int]:
    counters = device.counters()
    name = device.target_name
    return int(counters[f"{name}.H2D_BYTES"]), int(counters[f"{name}.D2H_BYTES"])


def excess(devices: list[DriverDevice], graph: xtc.Graph, inputs: list[Any]) -> list[str]:
    """Bytes copied beyond the minimum, one line for each device and direction."""
    found = []
    with xtc.compile(graph) as module:
        arguments = [
            tensor_home.array(array) if (tensor_home := home(tensor)) else array
            for tensor, array in zip(graph.inputs, inputs, strict=True)
        ]
        before = [copied_bytes(device) for device in devices]
        module(*arguments)
        for device, then in zip(devices, before, strict=True):
            least = least_bytes(graph, device)
            for direction, now, was, need in zip(
                ("to", "from"), copied_bytes(device), then, least, strict=True
            ):
                if now - was > need:
                    found.append(f"{now - was} bytes {direction} {device.device_name}, not {need}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_calls_copy_the_minimal_number_of_bytes(
    devices: list[DriverDevice], part: int, data: st.DataObject, seed: int
) -> None:
    places = [None, *devices]
    graph = data.draw(graphs(place=lambda draw: draw(st.sampled_from(places))))
    assert excess(devices, graph, inputs_of(graph, seed)) == []
