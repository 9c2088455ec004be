# SPDX-License-Identifier: Apache-2.0
"""The networks of MLPerf Tiny on simulated boards: instructions, flash and RAM of one inference.

The networks have random weights and the shapes of the benchmark, without the last softmax; given
.tflite files are measured instead. Instruction counts are exact; cycles are modelled by the tables
of `xtc_targets.embedded.cycles`, with the wait states of the board's flash. For comparison, the
tables show the instructions of CMSIS-NN at 99f736a (kernels only, compiled by Clang 22 -O3 and
counted in the same simulator), the sizes of the benchmark's .tflite files, and published
measurements on boards.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

import xtc
from benchmarks.console import wide_console
from benchmarks.tiny.networks import NETWORKS
from xtc.graph.graph import Graph

# Multiply-adds in millions, instructions of CMSIS-NN on M4 and M7 in millions, bytes of the largest
# sum of live tensors and of the .tflite file.
KNOWN = {
    "ResNet-8": (12.50, 31.4, 29.3, 49152, 98496),
    "DS-CNN": (2.66, 8.7, 8.9, 16000, 53936),
    "MobileNetV1 0.25": (7.49, 27.4, 28.1, 55296, 333288),
    "autoencoder": (0.264, 0.68, 0.61, 768, 276976),
}
BOARDS = ("nucleo-l4r5zi", "nucleo-h7a3", "nucleo-g0b1", "qemu-virt", "qemu-virt-a76")


# Millions of cycles of an inference: clock by median throughput of the public results of MLPerf
# Tiny (github.com/mlcommons/tiny_results_v1.0, _v1.2), in the order of the networks above.
PUBLISHED = (
    ("microTVM native, v1.0", "M4", (46.7, 17.3, 40.4, 1.41)),
    ("microTVM and CMSIS-NN, v1.0", "M4", (46.7, 12.0, 36.1, 1.03)),
    ("Plumerai, v1.0", "M4", (20.8, 8.6, 25.0, 0.67)),
    ("Bosch, v1.2", "M4", (21.7, 7.2, 21.7, 0.57)),
    ("X-CUBE-AI 9.0, v1.2", "M4", (19.8, 5.2, 10.7, 0.63)),
    ("X-CUBE-AI 9.0, v1.2", "M7", (11.4, 3.2, 6.7, 0.34)),
    ("Bosch, v1.2", "M7", (12.8, 4.1, 12.3, 0.30)),
)


def measured(graph: Graph, board: str, *, operators: bool) -> tuple[dict[str, int], list[str]]:
    """Instructions in thousands, bytes of flash and RAM, and the most expensive operators."""
    with xtc.compile(graph, "embedded", board=board) as module:
        module.check()
        counters = {key: int(value) for key, value in module.host.counters().items()}
    prefix = "embedded.INSTRUCTIONS."
    parts = {k.removeprefix(prefix): v for k, v in counters.items() if k.startswith(prefix)}
    largest = sorted(parts.items(), key=lambda part: -part[1])
    lines = [f"  {name}: {count:,}" for name, count in largest] if operators else []
    found = {key: counters[f"embedded.{key}"] for key in _KEYS}
    return {**found, "CYCLES": counters.get("modelled.embedded.CYCLES", 0)}, lines


_KEYS = ("INSTRUCTIONS", "FLASH_BYTES", "RAM_BYTES")
_COLUMNS = ("network", "board", "instructions", "per multiply-add", "CMSIS-NN M4 / M7", "cycles*")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table; each result is checked against NumPy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help=".tflite files instead of the networks")
    parser.add_argument("--board", action="append", help="of the boards, these; default: five")
    parser.add_argument("--network", action="append", choices=NETWORKS, help="default: all")
    parser.add_argument("--operators", action="store_true", help="instructions of each operator")
    args = parser.parse_args(argv)
    table = Table(title="one inference; instructions and cycles in millions; *: modelled")
    for column in (*_COLUMNS, "flash", ".tflite", "RAM", "live tensors"):
        table.add_column(column, justify="left" if column in ("network", "board") else "right")
    console = wide_console()
    for name, make, file in _chosen(args.files, args.network or list(NETWORKS)):
        for board in args.board or BOARDS:
            found, lines = measured(make(), board, operators=args.operators)
            table.add_row(*row(name, board, found, file))
            console.print("\n".join([f"{name} on {board}", *lines]) if lines else "", end="")
    console.print(table)
    if not args.files:
        console.print(published())


def _chosen(
    files: Sequence[Path], networks: Sequence[str]
) -> list[tuple[str, Callable[[], Graph], int]]:
    """Name, graph and size of the .tflite file of each network."""
    if files:
        return [
            (file.stem, functools.partial(xtc.import_tflite, file), file.stat().st_size)
            for file in files
        ]
    return [(name, NETWORKS[name], KNOWN[name][-1]) for name in networks]


def row(name: str, board: str, found: dict[str, int], file: int) -> tuple[str, ...]:
    """The cells of a network on a board."""
    million = found["INSTRUCTIONS"] / 1e6
    cycles = f"{found['CYCLES'] / 1e6:.2f}" if found["CYCLES"] else "-"
    known = KNOWN.get(name)
    each, others, live = ("-", "-", "-")
    if known is not None:
        each, others = f"{million / known[0]:.2f}", f"{known[1]} / {known[2]}"
        live = f"{known[3]:,}"
    sizes = f"{found['FLASH_BYTES']:,}", f"{file:,}", f"{found['RAM_BYTES']:,}"
    return (name, board, f"{million:.3f}", each, others, cycles, *sizes, live)


def published() -> Table:
    """The published measurements of others."""
    table = Table(title="measured by others on boards, millions of cycles")
    for column in ("engine", "core", *KNOWN):
        table.add_column(column, justify="left" if column in ("engine", "core") else "right")
    for engine, core, figures in PUBLISHED:
        table.add_row(engine, core, *map(str, figures))
    return table


if __name__ == "__main__":
    main()
