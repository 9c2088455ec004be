# SPDX-License-Identifier: Apache-2.0
"""The networks of MLPerf Tiny on simulated boards: instructions, flash and RAM of one inference.

The networks have random weights and the shapes of the benchmark, without the last softmax. Counts
of instructions are exact; they are no cycles. Beside them are the instructions of CMSIS-NN at
99f736a, kernels alone, compiled by Clang 22 -O3 and counted in the same simulator, and the bytes
of the benchmark's .tflite files.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

import xtc
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
BOARDS = ("nucleo-l4r5zi", "nucleo-h7a3", "nucleo-g0b1", "qemu-virt")


def measured(graph: Graph, board: str, *, operators: bool) -> tuple[dict[str, int], list[str]]:
    """Instructions in thousands, bytes of flash and RAM; and the operators that take most."""
    with xtc.compile(graph, "embedded", board=board) as module:
        module.check()
        counters = {key: int(value) for key, value in module.host.counters().items()}
    prefix = "embedded.INSTRUCTIONS."
    parts = {k.removeprefix(prefix): v for k, v in counters.items() if k.startswith(prefix)}
    largest = sorted(parts.items(), key=lambda part: -part[1])
    lines = [f"  {name}: {count:,}" for name, count in largest] if operators else []
    return {key: counters[f"embedded.{key}"] for key in _KEYS}, lines


_KEYS = ("INSTRUCTIONS", "FLASH_BYTES", "RAM_BYTES")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table; each result is checked against NumPy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", action="append", help="of the boards, these; default: four")
    parser.add_argument("--network", action="append", choices=NETWORKS, help="default: all")
    parser.add_argument("--operators", action="store_true", help="instructions of each operator")
    args = parser.parse_args(argv)
    table = Table(title="one inference; instructions in millions, exact")
    columns = ("network", "board", "ours", "per multiply-add", "CMSIS-NN M4 / M7", "flash")
    for column in (*columns, ".tflite", "RAM", "live tensors"):
        table.add_column(column, justify="left" if column in ("network", "board") else "right")
    console = Console(width=160)
    for network in args.network or NETWORKS:
        macs, m4, m7, live, file = KNOWN[network]
        for board in args.board or BOARDS:
            found, lines = measured(NETWORKS[network](), board, operators=args.operators)
            million = found["INSTRUCTIONS"] / 1e6
            row = (network, board, f"{million:.3f}", f"{million / macs:.2f}", f"{m4} / {m7}")
            sizes = (found["FLASH_BYTES"], file, found["RAM_BYTES"], live)
            table.add_row(*row, *(f"{size:,}" for size in sizes))
            console.print("\n".join([f"{network} on {board}", *lines]) if lines else "", end="")
    console.print(table)


if __name__ == "__main__":
    main()
