# SPDX-License-Identifier: Apache-2.0
"""Modelled cycles of the simulated wafer against published ones, and the simulator's speed.

The published cycles were measured by others on the vendor's simulator and on wafers; docs/wse.md
names the sources. Every cycle count of this project is modelled.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from xtc_targets.wse.build import Request, compile_program
from xtc_targets.wse.options import WseOptions
from xtc_targets.wse.sdk.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime

LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{{ .width = {width}, .height = {height} }});
const up = @get_color(2);
const down = @get_color(3);
layout {{
  @set_rectangle({width}, {height});
  for (@range(u16, {width})) |x| {{ for (@range(u16, {height})) |y| {{
    const even = x % 2 == 0;
    @set_tile_code(x, y, "pe.csl", .{{ .memcpy_params = memcpy.get_params(x), .first = x == 0,
      .last = x == {width} - 1, .come = if (even) down else up, .go = if (even) up else down }});
    const away = .{{ .routes = .{{ .rx = .{{ RAMP }}, .tx = .{{ EAST }} }} }};
    const here = .{{ .routes = .{{ .rx = .{{ WEST }}, .tx = .{{ RAMP }} }} }};
    @set_color_config(x, y, up, if (even) away else here);
    @set_color_config(x, y, down, if (even) here else away);
  }} }}
  @export_name("cycles", [*]u32, false);
  @export_name("main", fn()void);
}}
"""
PE = """
param memcpy_params;
param first: bool;
param last: bool;
param come: color;
param go: color;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const time = @import_module("<time>");
const in = @get_input_queue(2);
const out = @get_output_queue(3);
var begin = @zeros([3]u16);
var end = @zeros([3]u16);
var cycles = @zeros([1]u32);
const cycles_ptr: [*]u32 = &cycles;
{top}
fn main() void {{
  time.enable_tsc();
  time.get_timestamp(&begin);
  {body}
  {after}
}}
fn low(words: *[3]u16) u32 {{ return (@as(u32, words.*[1]) << 16) | @as(u32, words.*[0]); }}
fn finish() void {{
  time.get_timestamp(&end);
  cycles[0] = low(&end) - low(&begin);
  sys.unblock_cmd_stream();
}}
comptime {{
  @initialize_queue(in, .{{ .color = come }});
  @initialize_queue(out, .{{ .color = go }});
  @export_symbol(cycles_ptr, "cycles");
  @export_symbol(main);
  {comptime}
}}
"""
FIVE_CLASSES = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 5, .height = 1 });
layout {
  @set_rectangle(5, 1);
  for (@range(u16, 5)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x), .n = 8 * x + 8 });
  }
  @export_name("y", [*]f32, true);
  @export_name("main", fn()void);
}
"""
FIVE_CLASSES_PE = """
param memcpy_params;
param n: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const math = @import_module("<math>");
var a = @zeros([n, 8]f32);
var y = @zeros([n]f32);
const y_ptr: [*]f32 = &y;
fn main() void {
  for (@range(u16, n)) |i| {
    var sum: f32 = 0.0;
    for (@range(u16, 8)) |j| { sum += a[i, j] * math.sqrt(@as(f32, i + j)); }
    y[i] = if (made > 0) sum else 0.0;
  }
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(y_ptr, "y"); @export_symbol(main); }
"""


def cycles_of(
    body: str, top: str = "", comptime: str = "", width: int = 1, after: str = "finish();"
) -> float:
    """Modelled cycles of a program's `main`, on the last PE."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "layout.csl").write_text(LAYOUT.format(width=width, height=1))
        text = PE.format(body=body, top=top, comptime=comptime, after=after)
        (folder / "pe.csl").write_text(text)
        compile_program(Request(folder / "layout.csl", folder / "out"))
        runner = SdkRuntime(folder / "out", options=WseOptions())
        runner.load()
        runner.run()
        runner.launch("main")
        got = np.zeros(1, np.uint32)
        runner.memcpy_d2h(
            got, runner.get_id("cycles"), width - 1, 0, 1, 1, 1, streaming=False,
            order=MemcpyOrder.ROW_MAJOR, data_type=MemcpyDataType.MEMCPY_32BIT,
        )  # fmt: skip
        runner.stop()
    return float(got[0])


def matvec() -> float:
    """25 x 25, columns of 28 that start next to y's bank, in descriptor registers."""
    return cycles_of(
        "@load_to_dsr(to, ys, .{ .save_address = false });"
        "@load_to_dsr(from, ys, .{ .save_address = false });"
        "@load_to_dsr(column, columns, .{ .save_address = true }); @map(step, xs);",
        """
var a: [701]f32 align(16); var x: [25]f32 align(16); var y: [28]f32 align(16);
const columns = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{28} -> a[i + 1] });
const xs = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{25} -> x[i] });
const ys = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{28} -> y[i] });
const to = @get_dsr(dsr_dest, 0); const from = @get_dsr(dsr_src0, 0);
const column = @get_dsr(dsr_src1, 0);
fn step(value: f32) void { @fmacs(to, from, column, value); }""",
    )


def strided(length: int) -> float:
    """An iteration of a loop over strided columns."""
    return (_strided(length, 40) - _strided(length, 20)) / 20


def _strided(length: int, count: int) -> float:
    return cycles_of(
        f"for (@range(i16, {count})) |i| {{ @fmacs(ys, ys, as, x[i]);"
        " as = @increment_dsd_offset(as, 1, f32); }",
        f"""
var a: [{length} * 40]f32; var x: [40]f32; var y: [{length}]f32;
var as = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{length}}} -> a[i * 40] }});
const ys = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{length}}} -> y[i] }});""",
    )


_HALVES = """
var a: [4096]f16; var y: [4096]f16;
var as = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{n}}} -> a[i] }});
var ys = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{n}}} -> y[i] }});
var tiles = @zeros([256]f16);
const ts = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{256}} -> tiles[i] }});
const to = @get_dsr(dsr_dest, 0); const from = @get_dsr(dsr_src0, 0);
const more = @get_dsr(dsr_src1, 0);
fn step(value: f16) void {{ @fmach(to, from, more, value); }}"""


def one_descriptor() -> float:
    """4,096 multiply-adds of f16 in one operation."""
    return cycles_of("@fmach(ys, ys, as, 2.0);", _HALVES.format(n=4096))


def mapped() -> float:
    """The same in 256 tiles of 16, by @map."""
    loads = "".join(
        f"@load_to_dsr({register}, {what}, .{{ .save_address = true }});"
        for register, what in (("to", "ys"), ("from", "ys"), ("more", "as"))
    )
    return cycles_of(f"{loads} @map(step, ts);", _HALVES.format(n=16))


def looped() -> float:
    """The same in a `while` loop."""
    body = "@fmach(to, from, more, 2.0);"
    loads = "".join(
        f"@load_to_dsr({register}, {what}, .{{ .save_address = true }});"
        for register, what in (("to", "ys"), ("from", "ys"), ("more", "as"))
    )
    return cycles_of(
        f"{loads} var i: u16 = 0; while (i < 256) : (i += 1) {{ {body} }}", _HALVES.format(n=16)
    )


def gemm() -> float:
    """16 x 16 x 16 in three `while` loops of scalar code."""
    return cycles_of(
        """var i: u16 = 0; while (i < 16) : (i += 1) { var j: u16 = 0; while (j < 16) : (j += 1) {
        var sum: f32 = 0.0; var k: u16 = 0;
        while (k < 16) : (k += 1) { sum += a[i * 16 + k] * b[k * 16 + j]; }
        c[i * 16 + j] = sum; } }""",
        "var a: [256]f32; var b: [256]f32; var c: [256]f32;",
    )


def saxpy() -> float:
    """512 elements in a `while` loop of scalar code."""
    return cycles_of(
        "var i: u16 = 0; while (i < 512) : (i += 1) { y[i] = 2.0 * x[i] + y[i]; }",
        "var x: [512]f32; var y: [512]f32;",
    )


def relay(stages: int, wavelets: int) -> float:
    """A chain of PEs, each of which receives all wavelets before it forwards them."""
    top = f"""
const sent_id = @get_local_task_id(9); const got_id = @get_local_task_id(10);
var data: [{wavelets}]u32;
const ds = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{wavelets}}} -> data[i] }});
const send = @get_dsd(fabout_dsd, .{{ .extent = {wavelets}, .fabric_color = go,
  .output_queue = out }});
const receive = @get_dsd(fabin_dsd, .{{ .extent = {wavelets}, .fabric_color = come,
  .input_queue = in }});
task sent() void {{ finish(); }}
task got() void {{
  if (last) {{ finish(); }} else {{ @mov32(send, ds, .{{ .async = true, .activate = sent }}); }}
}}"""
    body = (
        "if (first) { @mov32(send, ds, .{ .async = true, .activate = sent }); } "
        "else { @mov32(ds, receive, .{ .async = true, .activate = got }); }"
    )
    bind = "@bind_local_task(sent, sent_id); @bind_local_task(got, got_id);"
    return cycles_of(body, top, bind, stages + 1, after="")


def published() -> Iterator[tuple[str, float, Callable[[], float]]]:
    """The name of a measurement, the published cycles, and a function for the modelled ones."""
    yield "matvec 25 x 25", 780, matvec
    yield "strided FMAC loop, length 8", 38.1, lambda: strided(8)
    yield "strided FMAC loop, length 32", 86.7, lambda: strided(32)
    yield "relay of 4 stages, 64 wavelets", 1.001 * 256 + 16.1 * 4 + 16.5, lambda: relay(4, 64)
    yield "relay of 8 stages, 16 wavelets", 1.001 * 128 + 16.1 * 8 + 16.5, lambda: relay(8, 16)
    yield "f16 FMA of 4,096, one descriptor", 1040, one_descriptor
    yield "f16 FMA of 4,096, @map of 16", 2840, mapped
    yield "f16 FMA of 4,096, while of 16", 4617, looped
    yield "scalar GEMM 16 x 16 x 16", 119_197, gemm
    yield "scalar SAXPY of 512", 11_276, saxpy


def speed(size: int, wavelets: int) -> None:
    """Rows that forward wavelets concurrently: seconds from compilation to the result."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "layout.csl").write_text(LAYOUT.format(width=size, height=size))
        each = wavelets // (size * size)
        text = PE.format(
            body="if (first) { @mov32(send, ds); } else if (last) { @mov32(ds, receive); }"
            "else { @fadds(send, receive, ds); }",
            top=f"""var data: [{each}]f32;
const ds = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{each}}} -> data[i] }});
const send = @get_dsd(fabout_dsd, .{{ .extent = {each}, .fabric_color = go,
  .output_queue = out }});
const receive = @get_dsd(fabin_dsd, .{{ .extent = {each}, .fabric_color = come,
  .input_queue = in }});""",
            comptime="",
            after="finish();",
        )
        (folder / "pe.csl").write_text(text)
        compile_program(Request(folder / "layout.csl", folder / "out"))
        compiled = time.monotonic()
        runner = SdkRuntime(folder / "out", options=WseOptions())
        runner.load()
        runner.run()
        runner.launch("main")
        hops = runner.counters()["wse.HOPS"]
        runner.stop()
    took = time.monotonic() - begin
    print(
        f"{size} x {size} PEs, {hops:.0f} hops: {took:.1f} s, {compiled - begin:.1f} s of them "
        "compiling"
    )


def compiling() -> None:
    """CPU seconds of a compilation of five tile classes, with a cold and with a warm cache."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "layout.csl").write_text(FIVE_CLASSES)
        (folder / "pe.csl").write_text(f"const made: u64 = {time.time_ns()};{FIVE_CLASSES_PE}")
        took = []
        for _ in range(2):
            begin = os.times()
            compile_program(Request(folder / "layout.csl", folder / "out"))
            took.append(sum(os.times()[:4]) - sum(begin[:4]))
    print(f"compiling five tile classes: {took[0]:.2f} s of processor time, {took[1]:.2f} s again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="measure the simulator's speed, too")
    given = parser.parse_args()
    deviations = []
    print(f"{'':34} {'published':>10} {'modelled':>10} {'deviation':>10}")
    for name, theirs, ours in published():
        modelled = ours()
        deviations.append(abs(modelled / theirs - 1))
        print(f"{name:34} {theirs:10.1f} {modelled:10.1f} {modelled / theirs - 1:10.1%}")
    print(f"median deviation {statistics.median(deviations):.1%}, largest {max(deviations):.1%}")
    if given.speed:
        speed(32, 1_000_000)
        speed(128, 1_000_000)
        compiling()


if __name__ == "__main__":
    main()
