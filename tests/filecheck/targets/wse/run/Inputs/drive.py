# SPDX-License-Identifier: Apache-2.0
"""Drives a program: `drive.py out h2d A 0,0,1,1 1:7 launch f d2h y 0,0,1,1 4`; prints what comes.

`h2d` and `in` copy and stream in, `d2h` and `out` copy and stream out; numbers with a point are
f32, a type may stand behind them (`1,2@f16`). Regions are x,y,width,height.
"""

import sys

import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

NARROW = {"f16": np.float16, "i16": np.int16, "u16": np.uint16}
WIDE = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}


def values_of(text: str) -> np.ndarray:
    numbers, _, kind = text.partition("@")
    listed: list[float] = []
    for part in numbers.split(","):
        first, colon, last = part.partition(":")
        listed += range(int(first), int(last)) if colon else [float(part)]
    kind = kind or ("f32" if "." in numbers else "i32")
    if kind in NARROW:
        return np.array(listed).astype(NARROW[kind]).view(np.uint16).astype(np.uint32)
    return np.array(listed).astype(WIDE[kind])


def settings(kind: str, streaming: bool) -> dict[str, object]:
    narrow = kind in NARROW
    return {
        "streaming": streaming,
        "order": MemcpyOrder.ROW_MAJOR,
        "data_type": MemcpyDataType.MEMCPY_16BIT if narrow else MemcpyDataType.MEMCPY_32BIT,
        "nonblock": streaming,
    }


def main() -> None:
    words = iter(sys.argv[2:])
    runner = SdkRuntime(sys.argv[1])
    runner.load()
    runner.run()
    for command in words:
        if command == "launch":
            name, *arguments = next(words).split(",")
            runner.launch(name, *[float(a) if "." in a else int(a) for a in arguments])
            continue
        what, region = next(words), [int(each) for each in next(words).split(",")]
        streaming = command in ("in", "out")
        symbol = int(what) if streaming else runner.get_id(what)
        if command in ("h2d", "in"):
            text = next(words)
            data = values_of(text)
            count = data.size // (region[2] * region[3])
            how = settings(text.partition("@")[2], streaming)
            runner.memcpy_h2d(symbol, data, *region, count, **how)
            continue
        count, _, kind = next(words).partition("@")
        kind = kind or "i32"
        got = np.zeros(int(count) * region[2] * region[3], WIDE.get(kind, np.uint32))
        how = {**settings(kind, streaming), "nonblock": False}
        runner.memcpy_d2h(got, symbol, *region, int(count), **how)
        if kind in NARROW:
            got = got.astype(np.uint16).view(NARROW[kind])
        print(f"{what}:", *(f"{each:g}" for each in got))
    runner.stop()


main()
