# SPDX-License-Identifier: Apache-2.0
"""Errors in CSL programs: messages with file, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.csl_support import HEAD, compiled, layout
from xtc_targets.wse.csl.errors import CslError

END = """
fn main() void {{ {body} sys.unblock_cmd_stream(); }}
comptime {{ {comptime} @export_symbol(main); }}
"""


def text_of(folder: Path, pe: str, arch: str = "wse3", layout_text: str = "") -> str:
    with pytest.raises(CslError) as caught:
        compiled(folder, {"layout.csl": layout_text or layout(), "pe.csl": pe}, arch)
    return str(caught.value).replace(f"{folder}/", "")


def program(body: str = "", top: str = "", comptime: str = "") -> str:
    return HEAD + top + END.format(body=body, comptime=comptime)


BODIES = {
    "var x: i16 = 70000;": "pe.csl:5:18: 70000 does not fit in i16",
    "x += 1;": "pe.csl:5:18: there is no 'x' here",
    "var x: i16 = 1.5;": "expected a value of type i16, not comptime_float",
    "const a: i16 = 1; const b: f32 = a;": "expected a value of type f32, not i16",
    "var a: [3]i16; a[3] = 1;": "index 3 is out of range for [3]i16",
    "const p: *i16 = 3;": "expected a value of type *i16, not comptime_int",
    "var i = 3;": "the variable 'i' has no type",
    "if (1) {}": "a condition must be a bool, not a comptime_int",
    "break;": "there is no loop to break",
    "main(1);": "'main' takes 0 arguments, not 1",
    "@nonsense(1);": "@nonsense is not supported",
    "@fadds(1, 2);": "@fadds takes 3 to 4 arguments, not 2",
    "comptime { while (true) {} }": "this takes too long at compile time",
    "const x = 1 / 0;": "division by zero",
    "const x = @get_color(24);": "wse3 has no color 24",
    "const x = @get_local_task_id(3);": "wse3 has no local task id 3",
    "const x = (((1;": "')' is expected here, not ';'",
    "const S = struct { a: i16 }; const s = S { .b = 1 };": "struct has no field 'b'",
    '"text"': "';' after a statement is expected here",
    "const x: i16 = if (main_runs) 1 else 2;": "there is no 'main_runs' here",
    "@activate(@get_color(1));": "on wse3 a queue is blocked, not a color",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.slow
def test_errors_in_a_function(body: str, tmp_path: Path) -> None:
    assert BODIES[body] in text_of(tmp_path, program(body))


TOPS = {
    "const a = b; const b = a;": "'a' depends on itself",
    "const a = 1; var a: i16 = 2;": "'a' is declared twice",
    "var big: [13000]f32;": "the data of pe.csl take 56176 bytes, but a PE has 49152",
    'const s = @import_module("none.csl");': "there is no file none.csl",
    'const s = @import_module("<tiem>");': "there is no library <tiem>",
    "param p: i16;": "the parameter 'p' has no value",
    "const u = @get_dsd(fabout_dsd, .{ .extent = 1, .output_queue = @get_output_queue(2), "
    ".zero = .{ .third_source = true } });": "'zero' has no 'third_source'",
    "const u = @get_dsd(fabin_dsd, .{ .extent = 1, .input_queue = @get_input_queue(2), "
    ".simd_mode = .{ .simd_16 = true } });": "'simd_mode' has no 'simd_16'",
    "comptime { @initialize_queue(@get_input_queue(2), .{ .color = @get_color(1), "
    ".ctrl_table_id = 4 }); }": "all control tasks are in one table",
    "comptime { @rpc(@get_data_task_id(@get_input_queue(2))); }": "@rpc serves launches by the",
    'const u = @import_comptime_value([2]u16, "none.json");': "none.json cannot be read",
    "const u = @allocate_fifo(v, .{ .xdsr = @get_xdsr(1) }); var v = @zeros([4]i16);": (
        "a FIFO has 'dest', 'src' and 'xdsr', or none of them"
    ),
    "const u = @get_dsd(mem4d_dsd, .{ .base_address = &v, .extent = .{ 2, 2 }, .stride = 1 }); "
    "var v = @zeros([4]i16);": "a mem4d_dsd with 2 extents and 1 strides",
}


@pytest.mark.parametrize("top", TOPS)
def test_errors_at_the_top_of_a_file(top: str, tmp_path: Path) -> None:
    uses = {"var big": "big[0] = 1.0;", "param p": "_ = p;", "const u": "_ = u;"}
    body = next((use for start, use in uses.items() if top.startswith(start)), "_ = a;")
    assert TOPS[top] in text_of(tmp_path, program(body, top))


COMPTIMES = {
    "@bind_local_task(t, i); @bind_local_task(t, i);": "task id 9 is bound twice, to 't' and",
    "@bind_local_task(main, i);": "'main' is a function, and only a task can be bound",
    "@initialize_queue(q, .{ .color = c }); @initialize_queue(q, .{ .color = c });": (
        "color 3 is bound to two input queues, 2 and 2"
    ),
    2 * "@initialize_queue(@get_output_queue(2), .{ .color = c });": (
        "output_queue 2 is initialized twice"
    ),
    2 * "@set_local_color_config(c, .{});": "color 3 is configured twice",
    "@set_control_task_table(.{ .stride = 8 });": "have a stride of 1 to 7, not 8",
    2 * "@set_control_task_table();": "@set_control_task_table is called twice",
    "@initialize_queue(q, .{});": "input_queue 2 has no color",
    "@activate(t);": "the task 't' is not bound to an id",
    "@export_symbol(i);": "only a function, a variable or a pointer to one can be exported",
    '@export_symbol(main, "other");': "the symbol 'other' is not declared in the layout",
    "@set_local_color_config(c, .{ .routes = .{ .rx = .{ 1 } } });": "a route goes EAST, WEST",
    "@set_local_color_config(c, .{ .rotues = 1 });": "a color has no 'rotues'",
    "@comptime_assert(false);": "@comptime_assert fails",
    "@set_rectangle(1, 1);": "@set_rectangle belongs in a layout block",
}


@pytest.mark.parametrize("comptime", COMPTIMES)
def test_errors_in_a_comptime_block(comptime: str, tmp_path: Path) -> None:
    top = (
        "task t() void {} const i = @get_local_task_id(9); const c = @get_color(3);"
        "const q = @get_input_queue(2);"
    )
    assert COMPTIMES[comptime] in text_of(tmp_path, program("", top, comptime))


def test_errors_in_the_layout(tmp_path: Path) -> None:
    twice = layout('@set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });')
    assert "the code of PE (0, 0) is set twice" in text_of(tmp_path, program(), layout_text=twice)
    outside = layout("@set_color_config(1, 0, @get_color(1), .{});")
    assert "PE (1, 0) is outside the rectangle of 1 x 1" in text_of(
        tmp_path, program(), layout_text=outside
    )
    route = "@set_color_config(0, 0, @get_color(1), .{ .routes = .{ .rx = .{ RAMP } } });"
    assert "color 1 of PE (0, 0) is configured twice" in text_of(
        tmp_path, program(), layout_text=layout(2 * route)
    )


def test_the_memory_error_lists_the_largest_symbols(tmp_path: Path) -> None:
    top = "var small: [10]i16; var large: [12000]f32; var larger: [9000]f32;"
    text = text_of(tmp_path, program("small[0] = 1; large[0] = 1.0; larger[0] = 2.0;", top))
    notes = [line for line in text.splitlines() if "note:" in line]
    assert "large: [12000]f32, 48000 bytes, at pe.csl:4:" in notes[0]
    assert "larger: [9000]f32, 36000 bytes" in notes[1]


def test_an_error_in_a_module_names_the_tile(tmp_path: Path) -> None:
    text = text_of(tmp_path, program("_ = nothing;"))
    assert "note: in the code of PE (0, 0), set at layout.csl:6:5" in text
