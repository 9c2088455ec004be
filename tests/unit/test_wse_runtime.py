# SPDX-License-Identifier: Apache-2.0
"""The host side: errors are detected before anything is copied; regions, orders and widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.csl_support import HEAD, compiled, layout
from xtc.core.errors import DeviceFault, UserError
from xtc_targets.wse.options import WseOptions
from xtc_targets.wse.sdk.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime

pytestmark = pytest.mark.slow

PE = (
    HEAD
    + """
var a = @zeros([4]f32);
var h = @zeros([4]i16);
const a_ptr: [*]f32 = &a;
const h_ptr: [*]i16 = &h;
fn main() void { sys.unblock_cmd_stream(); }
fn add(x: f32, k: i16) void {
  for (@range(i16, 4)) |i| { a[i] += x; h[i] += k; }
  sys.unblock_cmd_stream();
}
fn pair(x: i16, y: i16) void { h[0] = x; h[1] = y; sys.unblock_cmd_stream(); }
comptime {
  @export_symbol(a_ptr, "a");
  @export_symbol(a_ptr, "fixed");
  @export_symbol(h_ptr, "h");
  @export_symbol(add);
  @export_symbol(pair);
  @export_symbol(main);
}
"""
)
NAMES = """
  @export_name("a", [*]f32, true);
  @export_name("fixed", [*]f32, false);
  @export_name("h", [*]i16, true);
  @export_name("add", fn(f32, i16)void);
  @export_name("pair", fn(i16, i16)void);
"""
WIDE: dict[str, Any] = {
    "streaming": False,
    "order": MemcpyOrder.ROW_MAJOR,
    "data_type": MemcpyDataType.MEMCPY_32BIT,
}
NARROW = {**WIDE, "data_type": MemcpyDataType.MEMCPY_16BIT}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"layout.csl": layout(NAMES, width=3, height=2), "pe.csl": PE}
    return compiled(tmp_path_factory.mktemp("wse"), files)


@pytest.fixture
def runner(folder: Path) -> Iterator[SdkRuntime]:
    made = SdkRuntime(folder, options=WseOptions())
    made.load()
    made.run()
    yield made
    made.stop()


def test_commands_have_an_order(folder: Path) -> None:
    made = SdkRuntime(folder, options=WseOptions())
    with pytest.raises(UserError, match=r"run goes after load\(\)"):
        made.run()
    made.load()
    with pytest.raises(UserError, match=r"a launch goes between run\(\) and stop\(\)"):
        made.launch("main")
    made.run()
    made.stop()
    with pytest.raises(UserError, match=r"load goes first"):
        made.load()


def test_only_output_folders_run(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UserError, match="is not an output folder of cslc"):
        SdkRuntime(tmp_path)
    (tmp_path / "xtc.json").write_text("{")
    with pytest.raises(UserError, match=r"xtc\.json is damaged"):
        SdkRuntime(tmp_path)
    (tmp_path / "xtc.json").write_text('{"format": "that of before"}')
    with pytest.raises(UserError, match="was written by another version of cslc"):
        SdkRuntime(tmp_path)
    with pytest.raises(UserError, match=r"no system can be reached at 10\.0\.0\.1"):
        SdkRuntime(folder, cmaddr="10.0.0.1")


@pytest.mark.parametrize(
    ("region", "count", "how", "said"),
    [
        ((2, 0, 2, 1, 4), 8, WIDE, r"region of 2 x 1 PEs at \(2, 0\), 4 elements each, is not"),
        ((0, 0, 1, 1, 4), 3, WIDE, "the array has 3 elements, and the region 4"),
        ((0, 0, 1, 1, 4), 4, NARROW, "'a' has elements of type f32, which are not copied as 16"),
        ((0, 0, 1, 1), 4, WIDE, "a region is px, py, width, height"),
        ((0, 0, 1, 1, 4), 4, {**WIDE, "order": 7}, "order=7 is not a MemcpyOrder"),
        ((0, 0, 1, 1, 4), 4, {"streaming": False}, "a copy needs 'order'"),
        ((0, 0, 1, 1, 4), 4, {**WIDE, "blocking": 1}, "a copy has no 'blocking'"),
    ],
)
def test_invalid_copies_are_refused(
    runner: SdkRuntime, region: tuple[int, ...], count: int, how: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        runner.memcpy_h2d(runner.get_id("a"), np.zeros(count, np.float32), *region, **how)


def test_invalid_symbols_and_arguments_are_refused(runner: SdkRuntime) -> None:
    with pytest.raises(UserError, match="exports no symbol 'b'"):
        runner.get_id("b")
    data = np.zeros(4, np.float32)
    with pytest.raises(UserError, match="'fixed' is not mutable"):
        runner.memcpy_h2d(runner.get_id("fixed"), data, 0, 0, 1, 1, 4, **WIDE)
    with pytest.raises(UserError, match="an array of float64 is not copied"):
        runner.memcpy_h2d(runner.get_id("a"), data.astype(np.float64), 0, 0, 1, 1, 4, **WIDE)
    with pytest.raises(UserError, match="'add' takes 2 arguments, not 1"):
        runner.launch("add", 1.0)
    with pytest.raises(UserError, match=r"1\.5 is not of type i16, which 'add' takes"):
        runner.launch("add", 1.0, 1.5)
    with pytest.raises(UserError, match="40000 does not fit in i16"):
        runner.launch("add", 1.0, 40000)
    with pytest.raises(UserError, match="'a' is not a function"):
        runner.launch("a")


def test_orders_widths_and_broadcasts(runner: SdkRuntime) -> None:
    a, h = runner.get_id("a"), runner.get_id("h")
    row = np.arange(24, dtype=np.float32)
    runner.memcpy_h2d(a, row, 0, 0, 3, 2, 4, nonblock=True, **WIDE)
    column = np.zeros(24, np.float32)
    how = {**WIDE, "order": MemcpyOrder.COL_MAJOR}
    task = runner.memcpy_d2h(column, a, 0, 0, 3, 2, 4, nonblock=True, **how)
    runner.task_wait(task)
    assert runner.is_task_done(task)
    np.testing.assert_array_equal(column.reshape(4, 3, 2), row.reshape(2, 3, 4).transpose(2, 1, 0))
    words = np.arange(8, dtype=np.uint32) + 0x70000
    runner.memcpy_h2d_rowbcast(h, words, 0, 0, 3, 2, 4, **NARROW)
    runner.launch("add", np.float32(0.5), -1)
    got = np.zeros(24, np.uint32)
    runner.memcpy_d2h(got, h, 0, 0, 3, 2, 4, **NARROW)
    expected = np.repeat((np.arange(8) - 1).reshape(2, 1, 4), 3, axis=1) & 0xFFFF
    np.testing.assert_array_equal(got.reshape(2, 3, 4), expected)
    runner.memcpy_h2d_colbcast(h, np.arange(12, dtype=np.uint32), 0, 0, 3, 2, 4, **NARROW)
    runner.launch("pair", 11, -12)
    runner.memcpy_d2h(got, h, 0, 0, 3, 2, 4, **NARROW)
    assert got[:4].tolist() == [11, 0xFFF4, 2, 3]
    assert got[20:].tolist() == [11, 0xFFF4, 10, 11]


def test_the_same_seed_gives_the_same_cycles(folder: Path) -> None:
    cycles = []
    for _ in range(2):
        made = SdkRuntime(folder, options=WseOptions(schedule="shuffled", seed=9))
        made.load()
        made.run()
        made.launch("add", 1.0, 2)
        cycles.append(made.counters()["modelled.wse.CYCLES"])
        made.stop()
    assert cycles[0] == cycles[1] > 0


def test_a_deadlock_of_many_pes_has_a_summary_and_a_file(tmp_path: Path) -> None:
    pe = (
        HEAD
        + """
const in = @get_input_queue(2);
var a: [2]f32;
const as = @get_dsd(mem1d_dsd, .{ .base_address = &a, .extent = 2 });
const receive = @get_dsd(fabin_dsd, .{ .extent = 2, .fabric_color = @get_color(1),
  .input_queue = in });
fn main() void { @fmovs(as, receive); sys.unblock_cmd_stream(); }
comptime { @initialize_queue(in, .{ .color = @get_color(1) }); @export_symbol(main); }
"""
    )
    folder = compiled(tmp_path, {"layout.csl": layout(width=6, height=5), "pe.csl": pe})
    made = SdkRuntime(folder, options=WseOptions())
    made.load()
    made.run()
    with pytest.raises(DeviceFault, match="deadlock in cycle") as caught:
        made.launch("main")
    *pes, where = caught.value.notes
    assert len(pes) == 3
    report = Path(where.rpartition(" ")[2])
    lines = report.read_text().splitlines()
    report.unlink()
    assert len(lines) == 30
    assert lines[29].startswith("PE (5, 4), task 'the called function': operation in line 10")


def test_a_program_may_change_its_folder_before_it_loads(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    made = SdkRuntime(folder.name, options=WseOptions(log=Path("sim.log")))
    monkeypatch.chdir(tmp_path)
    made.load()
    made.run()
    made.stop()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sim.log", "simfab_traces"]


def test_the_memory_of_every_pe_is_dumped(runner: SdkRuntime, tmp_path: Path) -> None:
    runner.launch("pair", 0x1234, 7)
    runner.dump_core(str(tmp_path / "corefile.cs1"))
    memory = np.load(tmp_path / "corefile.cs1")
    assert memory.shape == (6, 49152)
    assert all(b"\x34\x12\x07\x00" in row.tobytes() for row in memory)
    assert runner.coord_logical_to_physical((1, 1)) == (1, 1)


def test_regions_may_have_names(runner: SdkRuntime) -> None:
    sent, got = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    number = runner.get_id("a")
    runner.memcpy_h2d(number, sent, px=2, py=1, w=1, h=1, elem_per_pe=4, **WIDE)
    runner.memcpy_d2h(got, number, 2, 1, w=1, h=1, elem_per_pe=4, **WIDE)
    assert np.array_equal(got, sent)
