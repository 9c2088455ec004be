# SPDX-License-Identifier: Apache-2.0
"""Programs that run elsewhere: compiled for a live board, arguments by symbol, loading, timing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit import board_target
from tests.unit.board_target import SimulatedBoard
from xtc.core import discover
from xtc.core.errors import ArtifactError, DeviceLost, DeviceMemoryError, UserError
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import Artifact, Manifest
from xtc.interfaces.memory_map import MemoryMap, Region, Symbol


@pytest.fixture(autouse=True)
def _target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this test's target available like an installed one."""
    known, find = discover.targets, discover.target
    monkeypatch.setattr(discover, "targets", lambda: (*known(), "board"))
    monkeypatch.setattr(
        discover, "target", lambda name: board_target.TARGET if name == "board" else find(name)
    )


@pytest.fixture
def board() -> Iterator[SimulatedBoard]:
    with SimulatedBoard(4096) as opened:
        yield opened


def layer(rows: int = 4) -> Graph:
    with O.graph(name="layer") as gb:
        O.relu(O.matmul(O.tensor((rows, 8), name="A"), O.tensor((8, 4), name="B")), name="C")
    return gb.graph


def test_a_program_runs_on_a_live_board(board: SimulatedBoard) -> None:
    with xtc.compile(layer(), target=board) as module:
        assert module.host is board
        module.check()
        result = module(np.ones((4, 8), np.float32), np.ones((8, 4), np.float32))
    assert result.tolist() == [[8.0] * 4] * 4


@pytest.mark.slow
def test_code_is_compiled_with_the_boards_options(board: SimulatedBoard) -> None:
    with xtc.compile(layer(), target=board) as module:
        assert module.artifact.manifest.toolchain["ram"] == "4096"
    with pytest.raises(UserError, match="ram=1 does not fit board"):
        xtc.compile(layer(), target=board, ram=1)


def test_the_manifest_maps_the_memory(board: SimulatedBoard) -> None:
    with xtc.compile(layer(), target=board) as module:
        manifest = module.artifact.manifest
    memory = manifest.memory
    assert memory is not None
    assert memory.used("RAM") == (4 * 8 + 8 * 4 + 4 * 4) * 4
    assert memory.symbol("B_board").address == 0x2000_0000 + 4 * 8 * 4
    assert Manifest.from_json(manifest.to_json(), Path()) == manifest


@pytest.mark.slow
def test_a_program_that_does_not_fit_fails_at_build(board: SimulatedBoard) -> None:
    with pytest.raises(DeviceMemoryError, match=r"needs \d+ bytes of RAM, not 4096"):
        xtc.compile(layer(rows=256), target=board)


@pytest.mark.slow
def test_a_modelled_board_reports_no_measured_rate(board: SimulatedBoard) -> None:
    with xtc.compile(layer(), target=board) as module:
        measured = module.measure(repeat=2, number=1)
    assert measured.modelled == {"cycles": 1000.0}
    assert (measured.gflops, measured.gbytes_per_s) == (None, None)
    assert measured.fraction_of_peak is None
    assert "modelled cycles 1,000" in str(measured)


@pytest.mark.slow
def test_an_artifact_is_loaded_onto_a_live_board(board: SimulatedBoard, tmp_path: Path) -> None:
    with xtc.compile(layer(), target=board) as module:
        module.save(tmp_path / "saved")
    with xtc.load(tmp_path / "saved", board) as loaded:
        assert loaded.host is board
        assert loaded(np.ones((4, 8), np.float32), np.ones((8, 4), np.float32))[0, 0] == 8.0
    with SimulatedBoard(8192) as other, pytest.raises(ArtifactError, match="for 4096 bytes of RAM"):
        xtc.load(tmp_path / "saved", other)


@pytest.mark.slow
def test_a_program_runs_on_a_single_runtime_of_its_target(
    board: SimulatedBoard, tmp_path: Path
) -> None:
    with xtc.compile(layer()) as module:
        module.save(tmp_path / "host")
    with pytest.raises(UserError, match=r"'layer' cannot run on board\d") as info:
        xtc.load(tmp_path / "host", board)
    assert info.value.notes[0] == "it is a program for host"


@pytest.mark.slow
def test_a_board_holds_a_single_program(board: SimulatedBoard) -> None:
    arrays = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
    with xtc.compile(layer(), target=board) as first, xtc.compile(layer(), target=board) as second:
        assert second(*arrays)[0, 0] == 8.0
        with pytest.raises(DeviceLost, match=r"'layer' is no longer on board\d"):
            first(*arrays)


@pytest.mark.slow
def test_a_board_refuses_code_of_another_target(board: SimulatedBoard) -> None:
    with xtc.compile(layer()) as module, pytest.raises(ArtifactError, match="cannot run code for"):
        board.load(Artifact(module.artifact.manifest, module.artifact.folder))


def test_a_damaged_memory_map_is_refused() -> None:
    data = {"regions": [{"name": "RAM", "address": 0, "nbytes": 8}], "symbols": []}
    assert MemoryMap.from_data(dict(data)) == MemoryMap((Region("RAM", 0, 8),))
    symbol = {"name": "A", "region": "ROM", "address": 0, "nbytes": 4}
    with pytest.raises(ValueError, match="lies in no region"):
        MemoryMap.from_data({**data, "symbols": [symbol]})
    with pytest.raises(TypeError):
        MemoryMap.from_data({**data, "symbols": [{**symbol, "address": -1}]})


def test_an_unknown_symbol_is_explained() -> None:
    memory = MemoryMap((Region("RAM", 0, 8),), (Symbol("input", "RAM", 0, 4),))
    with pytest.raises(UserError, match="has no symbol 'inputs'") as info:
        memory.symbol("inputs")
    assert info.value.hints == ("did you mean 'input'?",)
