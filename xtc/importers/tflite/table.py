# SPDX-License-Identifier: Apache-2.0
"""The operator table of the importer: TensorFlow Lite operator -> writer function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xtc.importers.tflite.call import Call
from xtc.importers.values import Value

Result = Value | Sequence[Value]
Writer = Callable[[Call], Result]

TABLE: dict[str, Writer] = {}


def reads(*names: str) -> Callable[[Writer], Writer]:
    """Register the function that writes the operators of these names."""

    def register(write: Writer) -> Writer:
        for name in names:
            TABLE[name] = write
        return write

    return register
