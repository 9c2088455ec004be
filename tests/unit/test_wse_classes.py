# SPDX-License-Identifier: Apache-2.0
"""Tile classes: PEs whose parameters differ only as data share a class, with equal results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.csl_support import HEAD, compiled, layout
from xtc_targets.wse.build import Request, evaluate
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sdk.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime

SIZE = 17
"""More classes than are compiled each for itself, and more values than are."""
PE = (
    HEAD
    + """
param px: {kind};
param py: i16;
param more: i16 = 0;
var r = @zeros([2]i32);
const r_ptr: [*]i32 = &r;
fn folded(x: i16) i16 {{ return if (x == 3) @as(i16, 100) else x * 2; }}
fn main() void {{
  r[0] = @as(i32, folded(@as(i16, px))) + @as(i32, py) * 1000;
  if (px == py) {{ r[1] = 1; }} else {{ r[1] = -1; }}
  sys.unblock_cmd_stream();
}}
comptime {{ {comptime} @export_symbol(r_ptr, "r"); @export_symbol(main); }}
"""
)
LAYOUT = layout('@export_name("r", [*]i32, false);', ", .px = {px}, .py = y", SIZE, SIZE)
KNOWN = "@comptime_assert(px < 99);"


def files(kind: str = "i16", comptime: str = "", px: str = "x") -> dict[str, str]:
    return {
        "layout.csl": LAYOUT.replace("{px}", px),
        "pe.csl": PE.format(kind=kind, comptime=comptime),
    }


def classes_of(folder: Path, texts: dict[str, str]) -> int:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return len(evaluate(Request(folder / "layout.csl", folder / "out")).classes)


@pytest.mark.slow
@pytest.mark.parametrize(("comptime", "classes"), [("", 1), (KNOWN, SIZE * SIZE)])
def test_data_parameters_share_a_class(comptime: str, classes: int, tmp_path: Path) -> None:
    texts = files(comptime=comptime)
    assert classes_of(tmp_path, texts) == classes
    runner = SdkRuntime(compiled(tmp_path, texts))
    runner.load()
    runner.run()
    runner.launch("main")
    got = np.zeros((SIZE, SIZE, 2), np.int32)
    runner.memcpy_d2h(
        got, runner.get_id("r"), 0, 0, SIZE, SIZE, 2, streaming=False, nonblock=False,
        order=MemcpyOrder.ROW_MAJOR, data_type=MemcpyDataType.MEMCPY_32BIT,
    )  # fmt: skip
    runner.stop()
    y, x = np.mgrid[:SIZE, :SIZE]
    np.testing.assert_array_equal(got[..., 0], np.where(x == 3, 100, 2 * x) + 1000 * y)
    np.testing.assert_array_equal(got[..., 1], np.where(x == y, 1, -1))


@pytest.mark.slow
def test_data_fit_in_their_type(tmp_path: Path) -> None:
    with pytest.raises(CslError, match="the parameter 'px': 128 does not fit in i8"):
        classes_of(tmp_path, files(kind="i8", px="x * 16"))
