# SPDX-License-Identifier: Apache-2.0
"""The host side of a program: `SdkRuntime` of the vendor's SDK, on the simulated wafer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xtc.core.errors import UserError, did_you_mean
from xtc_targets.wse.description import COLORS, SRAM_BYTES
from xtc_targets.wse.device import WseDevice
from xtc_targets.wse.options import WseOptions
from xtc_targets.wse.output import LIBRARY, read_about
from xtc_targets.wse.sdk import settings
from xtc_targets.wse.sdk.settings import configured
from xtc_targets.wse.sdk.task import Pending, Task

COPY_IN, COPY_OUT, STREAM_IN, STREAM_OUT, CALL, FINISH, DUMP = range(1, 8)
_PLACE = ("px", "py", "w", "h", "elem_per_pe")
_COLUMN_MAJOR, _NARROW, _ROWS, _COLUMNS, _DEFERRED = 1, 2, 4, 8, 16
MEMORY_FILE = "memory.npy"
"""The file that `stop` writes to the output folder for the debugger: the memory of every PE."""
TRACES = Path("simfab_traces")
"""The folder that `run` creates, which programs may move afterwards."""


class MemcpyDataType(IntEnum):
    """The part of each 32-bit host word that a PE receives."""

    MEMCPY_16BIT = 0
    MEMCPY_32BIT = 1


class MemcpyOrder(IntEnum):
    """The memory order of host arrays: [h][w][l], or l slowest and h fastest."""

    ROW_MAJOR = 0
    COL_MAJOR = 1


class SdkRuntime:
    """Runs the program in an output folder of `cslc`.

    `load`, `run` and `stop` are called once each, in this order, with commands between the last
    two. Misuse raises UserError before any data is copied.
    """

    def __init__(
        self,
        name: str | Path,
        cmaddr: str | None = None,
        suppress_simfab_trace: bool = False,
        simfab_numthreads: int = 1,
        msg_level: str = "WARNING",
        memcpy_required: bool = True,
        options: WseOptions | None = None,
        **unused: object,
    ) -> None:
        if cmaddr:
            raise UserError(
                f"no system can be reached at {cmaddr}",
                notes=["this SdkRuntime runs programs on a simulated wafer"],
                hints=["omit cmaddr, or use the vendor's SDK: the program is the same"],
            )
        self._folder = Path(name).resolve()
        self._about = read_about(self._folder)
        self._exports = {each["name"]: each for each in self._about["exports"]}
        self._by_id = {each["id"]: each for each in self._about["exports"]}
        self.device = WseDevice(replace(options or configured(), arch=self._about["arch"]))
        self._suppressed = suppress_simfab_trace
        self._state = "new"
        self._pending: list[Pending] = []

    def load(self) -> None:
        """Load the program onto the wafer."""
        self._expect("new", "load")
        module = self.device.load_module((self._folder / LIBRARY).read_bytes())
        self._function = self.device.get_module_function(module, "wse_program")
        self._queue = self.device.queue()
        self._state = "loaded"

    def run(self) -> None:
        """Start the tasks of the program."""
        self._expect("loaded", "run")
        self.device.launch(self._function, [0])
        if not self._suppressed and self.device.options.log is not None:
            _make_traces()
        self._state = "running"

    def stop(self) -> None:
        """Finish all commands and end the program."""
        self._expect("running", "stop")
        self._state = "stopped"
        try:
            self._finish_all()
            self._keep_memory()
        finally:
            self.device.close()

    def get_id(self, symbol: str) -> int:
        """The number of an exported variable."""
        number: int = self._export(symbol)["id"]
        return number

    def memcpy_h2d(self, dest: int, src: Any, *region: int, **how: Any) -> Task:
        """Copy an array to a variable of each PE of a region, or stream it on a color."""
        return self._to_device(dest, src, region, how, 0)

    def memcpy_h2d_rowbcast(self, dest: int, src: Any, *region: int, **how: Any) -> Task:
        """Copy the same data to every PE of a row: the array has one column of PEs."""
        return self._to_device(dest, src, region, how, _ROWS)

    def memcpy_h2d_colbcast(self, dest: int, src: Any, *region: int, **how: Any) -> Task:
        """Copy the same data to every PE of a column: the array has one row of PEs."""
        return self._to_device(dest, src, region, how, _COLUMNS)

    def memcpy_d2h(self, dest: Any, src: int, *region: int, **how: Any) -> Task:
        """Copy a variable of each PE of a region to an array, or collect a stream."""
        part = self._region(region, how, 0)
        self._check_what(src, part, writes=False)
        array = _host_array(dest)
        if not array.flags.writeable or not array.flags.c_contiguous:
            raise UserError("the destination array is written in place: it must be contiguous")
        _check_size(array, part.count)
        staged = np.zeros(part.count, np.uint32)
        device = self.device.empty(part.count, "int32")
        code = STREAM_OUT if part.streaming else COPY_OUT
        event = self._launch(code, src, part, device.address)
        pending = Pending(self._queue, event, device, staged, array)
        pending.deferred = bool(part.flags & _DEFERRED)
        return self._task(pending, part.nonblock)

    def launch(self, symbol: str, *args: Any, nonblock: bool = False) -> Task:
        """Call a function on every PE; arguments are converted to the parameters' types."""
        export = self._function_export(symbol)
        kinds = export["params"]
        if len(args) != len(kinds):
            raise UserError(f"'{symbol}' takes {len(kinds)} arguments, not {len(args)}")
        words = [_typed(value, kind, symbol) for value, kind in zip(args, kinds, strict=True)]
        return self._call(export, words, nonblock)

    def call(self, symbol: str, params: Sequence[int] = (), nonblock: bool = False) -> Task:
        """Call a function with arguments as 32-bit words."""
        export = self._function_export(symbol)
        words = [int(each) & 0xFFFFFFFF for each in np.asarray(params, np.uint32).ravel()]
        if len(words) != len(export["params"]):
            raise UserError(f"'{symbol}' takes {len(export['params'])} arguments, not {len(words)}")
        return self._call(export, words, nonblock)

    def task_wait(self, task: Task) -> None:
        """Wait for a command; its results are available afterwards."""
        self._wait(task.pending)

    def is_task_done(self, task: Task) -> bool:
        """Whether a command is done; does not wait."""
        return task.pending.is_done

    def coord_logical_to_physical(self, logical_coords: tuple[int, int]) -> tuple[int, int]:
        """Convert coordinates of the program's rectangle to those of the fabric."""
        (x, y), (left, top) = logical_coords, self._about["offsets"]
        return int(x) + left, int(y) + top

    def dump_core(self, corefile: str) -> None:
        """Write the memory of every PE to a file, as a NumPy array: [PE][byte], row by row."""
        if self._state == "running":
            self._finish_all()
            memory = self._memory()
        elif self._state == "stopped" and self._keeps_memory():
            memory = np.load(self._folder / MEMORY_FILE)
        else:
            raise UserError("dump_core must be called between run() and stop()")
        with Path(corefile).open("wb") as file:
            np.save(file, memory)

    def counters(self) -> dict[str, float]:
        """Exact counts, and modelled cycles."""
        return dict(self.device.counters())

    # Inside -------------------------------------------------------------------------------------

    def _to_device(
        self, dest: int, src: Any, region: Sequence[int], how: dict[str, Any], flags: int
    ) -> Task:
        part = self._region(region, how, flags)
        self._check_what(dest, part, writes=True)
        array = np.ascontiguousarray(_host_array(src)).ravel()
        _check_size(array, part.count)
        device = self.device.empty(max(part.count, 1), "int32")
        self._queue.copy_to(device.address, array.view(np.uint8).data)
        code = STREAM_IN if part.streaming else COPY_IN
        event = self._launch(code, dest, part, device.address)
        return self._task(Pending(self._queue, event, device), part.nonblock)

    def _launch(self, code: int, what: int, part: _Region, address: int) -> Any:
        words = [code, what, *part.region, part.flags, address]
        return self._queue.launch(self._function, words)

    def _region(self, region: Sequence[int], how: dict[str, Any], flags: int) -> _Region:
        self._expect("running", "a copy")
        region = [*region, *(how.pop(name) for name in _PLACE[len(region) :] if name in how)]
        if len(region) != 5:
            raise UserError("a region is px, py, width, height and the elements of each PE")
        x, y, width, height, elements = (int(each) for each in region)
        if (
            min(x, y) < 0
            or min(width, height, elements) < 1
            or (x + width > self._about["width"] or y + height > self._about["height"])
        ):
            raise UserError(
                f"the region of {width} x {height} PEs at ({x}, {y}), {elements} elements each, is "
                f"not inside the program's {self._about['width']} x {self._about['height']}"
            )
        return _Region.of((x, y, width, height, elements), how, flags)

    def _check_what(self, what: Any, part: _Region, writes: bool) -> None:
        if isinstance(what, bool) or not isinstance(what, int | np.integer):
            raise UserError(f"{what!r} is not a symbol's number", hints=["get_id(name) returns it"])
        if part.streaming:
            if not 0 <= what < COLORS:
                raise UserError(f"there is no color {what}")
            return
        export = self._by_id.get(int(what))
        if export is None or "params" in export:
            raise UserError(f"{what} is not a variable's number", hints=["get_id(name) returns it"])
        if writes and not export["mutable"]:
            raise UserError(
                f"'{export['name']}' is not mutable",
                hints=[f'@export_name("{export["name"]}", ..., true) in the layout'],
            )
        size = 2 if part.flags & _NARROW else 4
        if export["element"] != size:
            raise UserError(
                f"'{export['name']}' has elements of type {export['type']}, which are not copied "
                f"as {8 * size} bits"
            )
        self._check_has(export, part)

    def _check_has(self, export: dict[str, Any], part: _Region) -> None:
        x, y, width, height, _ = part.region
        of, across = self._about["class_of"], self._about["width"]
        for row in range(y, y + height):
            for column in range(x, x + width):
                if of[row * across + column] not in export["classes"]:
                    raise UserError(f"PE ({column}, {row}) has no symbol '{export['name']}'")

    def _call(self, export: dict[str, Any], words: list[int], nonblock: bool) -> Task:
        self._expect("running", "a launch")
        kinds = export["params"]
        if len(kinds) == 2 and all(kind in ("i16", "u16", "f16") for kind in kinds):
            words = [words[0] & 0xFFFF | (words[1] & 0xFFFF) << 16]
        padded = [*words, *[0] * (8 - len(words))]
        event = self._queue.launch(self._function, [CALL, export["id"], 0, *padded])
        return self._task(Pending(self._queue, event), nonblock)

    def _task(self, pending: Pending, nonblock: bool) -> Task:
        self._pending.append(pending)
        if not nonblock:
            self._wait(pending)
        return Task(pending)

    def _wait(self, pending: Pending) -> None:
        if not pending.is_done:
            pending.wait(lambda: self._queue.launch(self._function, [FINISH]))
        self._pending = [each for each in self._pending if not each.is_done]

    def _finish_all(self) -> None:
        for pending in list(self._pending):
            self._wait(pending)
        self._queue.wait(self._queue.launch(self._function, [FINISH]))

    def _keep_memory(self) -> None:
        if self._keeps_memory():
            np.save(self._folder / MEMORY_FILE, self._memory())

    def _keeps_memory(self) -> bool:
        """Whether to save memory for the debugger: it is imported, or the program has traces."""
        return bool(self._about["keeps_memory"]) or settings.debugging

    def _memory(self) -> NDArray[np.uint8]:
        count = self._about["width"] * self._about["height"]
        memory = np.zeros((count, SRAM_BYTES), np.uint8)
        device = self.device.empty(memory.shape, "int8")
        self.device.launch(self._function, [DUMP, device.address])
        self.device.memory_copy_from(memory.data, device.address)
        return memory

    def _export(self, symbol: str) -> dict[str, Any]:
        if symbol not in self._exports:
            raise UserError(
                f"the program exports no symbol {symbol!r}",
                hints=did_you_mean(str(symbol), self._exports),
            )
        found: dict[str, Any] = self._exports[symbol]
        return found

    def _function_export(self, symbol: str) -> dict[str, Any]:
        export = self._export(symbol)
        if "params" not in export:
            raise UserError(f"'{symbol}' is not a function")
        return export

    def _expect(self, state: str, what: str) -> None:
        if self._state != state:
            wanted = {
                "new": "first",
                "loaded": "after load()",
                "running": "between run() and stop()",
            }
            raise UserError(f"{what} goes {wanted[state]}", notes=[f"the runtime is {self._state}"])


def _make_traces() -> None:
    """Create the vendor's trace folder, with a note about this simulator's option."""
    TRACES.mkdir(exist_ok=True)
    (TRACES / "README").write_text("cs_python --trace=FILE writes a trace for Perfetto\n")


class _Region:
    """The region and the options of a copy."""

    def __init__(
        self, region: tuple[int, ...], flags: int, streaming: bool, nonblock: bool
    ) -> None:
        self.region, self.flags = region, flags
        self.streaming, self.nonblock = streaming, nonblock
        _, _, width, height, elements = region
        wide = 1 if flags & _ROWS else width
        high = 1 if flags & _COLUMNS else height
        self.count = wide * high * elements

    @classmethod
    def of(cls, region: tuple[int, ...], how: dict[str, Any], flags: int) -> _Region:
        known = ("streaming", "order", "data_type", "nonblock")
        for name in how:
            if name not in known:
                raise UserError(f"a copy has no '{name}'", hints=did_you_mean(name, known))
        if missing := [name for name in known[:3] if name not in how]:
            raise UserError(f"a copy needs '{missing[0]}'")
        streaming, nonblock = bool(how["streaming"]), bool(how.get("nonblock", False))
        order, data_type = how["order"], how["data_type"]
        if order not in tuple(MemcpyOrder) or isinstance(order, bool):
            raise UserError(f"order={order!r} is not a MemcpyOrder")
        if data_type not in tuple(MemcpyDataType) or isinstance(data_type, bool):
            raise UserError(f"data_type={data_type!r} is not a MemcpyDataType")
        if order == MemcpyOrder.COL_MAJOR:
            flags |= _COLUMN_MAJOR
        if data_type == MemcpyDataType.MEMCPY_16BIT:
            flags |= _NARROW
        if streaming and nonblock:
            flags |= _DEFERRED
        return cls(region, flags, streaming, nonblock)


def _host_array(value: Any) -> NDArray[Any]:
    if not isinstance(value, np.ndarray):
        raise UserError(f"a copy takes arrays of NumPy, not {type(value).__name__}")
    if value.dtype.itemsize != 4:
        raise UserError(
            f"an array of {value.dtype} is not copied",
            notes=["elements of the host have 32 bits, also for MEMCPY_16BIT"],
            hints=["cerebras.sdk.sdk_utils.input_array_to_u32 widens"],
        )
    return value


def _check_size(array: NDArray[Any], count: int) -> None:
    if array.size != count:
        raise UserError(f"the array has {array.size} elements, and the region {count}")


def _typed(value: Any, kind: str, symbol: str) -> int:
    """An argument's bits. Raises UserError if it is not of type `kind`."""
    names = {"f16": "float16", "f32": "float32", "bool": "bool", "i16": "int16", "u16": "uint16",
             "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "i8": "int8",
             "u8": "uint8"}  # fmt: skip
    if kind not in names:
        raise UserError(f"'{symbol}' has a parameter of type {kind}, which the host cannot pass")
    dtype = np.dtype(names[kind])
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iufb":
        raise UserError(f"{value!r} is not of type {kind}, which '{symbol}' takes")
    if dtype.kind in "iu" and array.dtype.kind == "f":
        raise UserError(f"{value!r} is not of type {kind}, which '{symbol}' takes")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        number = int(array.ravel()[0])
        if not int(limits.min) <= number <= int(limits.max):
            raise UserError(f"{number} does not fit in {kind}, which '{symbol}' takes")
    return int.from_bytes(array.astype(dtype).tobytes(), "little")
