# SPDX-License-Identifier: Apache-2.0
"""The tables of a program as 32-bit words, in the order in which `csrc/wse_image.c` reads them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from xtc_targets.wse.description import Architecture
from xtc_targets.wse.sema.declarations import ColorConfig
from xtc_targets.wse.sema.tile import TileClass

MAGIC = 0x45535758  # "XWSE"
_KINDS = ("local_task_id", "data_task_id", "control_task_id")
_FILTERS = ("", "counter", "range", "sparse_counter")


class Words:
    """A growing table."""

    def __init__(self) -> None:
        self.words: list[int] = []

    def put(self, *numbers: int) -> None:
        self.words += [number & 0xFFFFFFFF for number in numbers]

    def table(self, rows: Iterable[Sequence[int]]) -> None:
        """Append the number of rows, then their values."""
        listed = list(rows)
        self.put(len(listed))
        for row in listed:
            self.put(*row)

    def bytes(self, data: bytes) -> None:
        self.put(len(data))
        padded = data + bytes(-len(data) % 4)
        self.words += struct.unpack(f"<{len(padded) // 4}I", padded)

    def text(self, text: str) -> None:
        self.bytes(text.encode() + b"\0")


def tables(
    arch: Architecture, size: tuple[int, int], classes: Sequence[TileClass],
    class_of: Sequence[int], values: Sequence[Sequence[int]],
    routes_of: Sequence[int], routes: Sequence[dict[int, ColorConfig]],
    symbols: Sequence[str], options: Sequence[int],
) -> list[int]:  # fmt: skip
    """The tables that the simulator needs in addition to the code.

    Args:
        class_of: the class of each PE, row by row; values: the values that differ per PE.
        routes_of: the index of each PE's routes.
        symbols: exported names; the host uses their indices.
        options: fabric offsets and other options of the simulator.
    """
    out = Words()
    out.put(MAGIC, arch.number, *size, arch.hop_cycles, arch.ramp_cycles, arch.link_buffer)
    out.put(int(arch.data_tasks_by_queue), arch.microthreads)
    out.table([number] for number in options)
    out.table([depth] for depth in arch.input_queues)
    out.table([depth] for depth in arch.output_queues)
    out.put(len(symbols))
    for symbol in symbols:
        out.text(symbol)
    out.put(len(classes))
    first_entry = 0
    for each in classes:
        _tile_class(out, each, first_entry, symbols)
        first_entry += len(each.entries)
    out.put(len(routes))
    for colors in routes:
        _routes(out, colors)
    for number in range(size[0] * size[1]):
        out.put(class_of[number] | routes_of[number] << 16, *values[number])
    return out.words


def _tile_class(out: Words, tile_class: TileClass, first: int, symbols: Sequence[str]) -> None:
    declarations = tile_class.declarations
    out.text(tile_class.name)
    out.put(tile_class.memory_end, declarations.host_in, declarations.host_out)
    out.put(len(tile_class.initial))
    for address, data in tile_class.initial:
        out.put(address)
        out.bytes(data)
    out.put(len(declarations.tasks))
    for number, binding in sorted(declarations.tasks.items()):
        entry = first + tile_class.entry_of[binding.function]
        out.put(declarations.task_number(number), _KINDS.index(binding.kind), entry)
        out.text(binding.function.name)
    out.put(int(declarations.control_stride > 0))
    out.table([number] for number in sorted(declarations.blocked))
    out.table([number] for number in sorted(declarations.unblocked))
    out.table([number] for number in sorted(declarations.activated))
    for queues in (declarations.input_queues, declarations.output_queues):
        out.table((number, config.color) for number, config in sorted(queues.items()))
    out.table(
        (number, config.table * declarations.control_stride)
        for number, config in sorted(declarations.input_queues.items())
    )
    out.table(sorted(declarations.rotations.items()))
    _routes(out, {color: config for color, (config, _) in declarations.colors.items()})
    out.table(
        (each.buffer.address or 0, each.nbytes, each.element, each.on_push, each.on_pop)
        for each in declarations.fifos
    )
    for handlers in (declarations.teardown, declarations.empty_queue):
        out.table(
            (number, first + tile_class.entry_of[function])
            for number, function in sorted(handlers.items())
        )
    for symbol in symbols:
        address, indirect = tile_class.addresses.get(symbol, (0, False))
        export = declarations.exports.get(symbol)
        function = export.function if export is not None else None
        entry = first + tile_class.entry_of[function] if function is not None else 0xFFFFFFFF
        out.put(address, int(indirect), int(symbol in tile_class.addresses), entry)
    out.table((address, kind.size) for _, address, kind in tile_class.per_pe)
    out.put(len(tile_class.texts))
    for text in tile_class.texts:
        out.text(text)


def _routes(out: Words, colors: dict[int, ColorConfig]) -> None:
    out.put(len(colors))
    for color, config in sorted(colors.items()):
        out.put(color, len(config.positions), config.current, int(config.ring), config.pop)
        positions = [
            rx | tx << 8 | (config.inputs >> number & 1) << 16
            for number, (rx, tx) in enumerate(config.positions)
        ]
        out.put(*positions, *[0] * (4 - len(positions)))
        numbers = config.filter.numbers if config.filter is not None else ()
        kind = config.filter.kind if config.filter is not None else ""
        out.put(
            int(config.teardown) | config.swap << 1,
            _FILTERS.index(kind),
            *numbers,
            *[0] * (6 - len(numbers)),
        )


def routes_key(colors: dict[int, ColorConfig]) -> object:
    """A key that is equal for PEs with the same routes."""
    return tuple(sorted(colors.items()))
