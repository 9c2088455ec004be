# SPDX-License-Identifier: Apache-2.0
"""Programs with random changes: CslError or success, in bounded time."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from tests.unit.csl_support import HEAD, layout
from xtc_targets.wse.build import Request, evaluate
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.csl.parser import parse

PROGRAM = (
    HEAD
    + """
param n: i16 = 4;
const math = @import_module("<math>");
const Kind = enum(u16) { A, B = 4 };
const Pair = struct { x: i16, y: f32 };
var a = @zeros([4, 3]f32);
var pair: Pair = Pair { .x = 1, .y = 2.5 };
var as = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> a[1, i] });
const id = @get_local_task_id(9);
const out = @get_output_queue(2);
const send = @get_dsd(fabout_dsd, .{ .extent = 3, .fabric_color = @get_color(2),
  .output_queue = out });
fn twice(x: anytype) @type_of(x) { return x + x; }
fn main() void {
  for (@range(i16, n)) |i| {
    if (i % 2 == 0 and i != 6) { a[i, 1] += @as(f32, twice(i)); } else { continue; }
  }
  var k: u16 = 0;
  while (k < 3) : (k += 1) { pair.x = @as(i16, Kind.B) << 2; }
  as = @increment_dsd_offset(as, 1, f32);
  @fmacs(as, as, as, math.sqrt(pair.y));
  @mov32(send, as, .{ .async = true, .activate = done });
}
task done() void { sys.unblock_cmd_stream(); }
comptime {
  @bind_local_task(done, id);
  @initialize_queue(out, .{ .color = @get_color(2) });
  @export_symbol(main);
}
"""
)
WORDS = re.compile(r"\w+|@\w+|[^\w\s]|\s+")
ODD = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "0",
    "-1",
    "99999999999",
    "fn",
    "comptime",
    "while (true)",
    ".",
]


def mutated(text: str, chance: random.Random) -> str:
    """Some words removed, duplicated, exchanged or replaced."""
    words = WORDS.findall(text)
    for _ in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(words)), chance.randrange(len(words))
        change = chance.randrange(4)
        if change == 0:
            del words[at]
        elif change == 1:
            words.insert(at, words[other])
        elif change == 2:
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = chance.choice(ODD)
    return "".join(words)


@pytest.mark.slow
def test_any_mutation_is_accepted_or_refused(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    count = 10_000 if pytestconfig.getoption("--long", default=False) else 60
    (tmp_path / "layout.csl").write_text(layout("@set_color_config(0, 0, @get_color(2), .{});"))
    chance = random.Random(16)  # noqa: S311
    refused = 0
    for _ in range(count):
        (tmp_path / "pe.csl").write_text(mutated(PROGRAM, chance))
        begin = time.monotonic()
        try:
            evaluate(Request(tmp_path / "layout.csl", tmp_path / "out"))
        except CslError:
            refused += 1
        assert time.monotonic() - begin < 60  # an endless loop, on however slow a machine
    assert count / 2 < refused < count


@pytest.mark.slow
@pytest.mark.parametrize("opening", ["(", "-", "if (true) ", "[", "{", "&", ".{", "struct { a: "])
def test_deep_nesting_is_refused(opening: str) -> None:
    with pytest.raises(CslError):
        parse(f"fn f() void {{ x = {opening * 5000}1; }}", "deep.csl")


def test_long_chains_do_not_count_as_deep_nesting(tmp_path: Path) -> None:
    text = HEAD + f"const x = {'1 + ' * 3000}1;\nfn main() void {{ var y: i16 = x; _ = y; }}"
    (tmp_path / "layout.csl").write_text(layout())
    (tmp_path / "pe.csl").write_text(text + "comptime { @export_symbol(main); }")
    evaluate(Request(tmp_path / "layout.csl", tmp_path / "out"))
