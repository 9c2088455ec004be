# SPDX-License-Identifier: Apache-2.0
"""State shared by tile classes: the command line, and deduplicated functions and constants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """The options of the command line that apply to all files.

    Attributes:
        import_paths: additional folders of modules.
        fabric: width and height of the fabric, if given.
        offsets: the position of the rectangle in the fabric.
    """

    import_paths: tuple[Path, ...] = ()
    fabric: tuple[int, int] | None = None
    offsets: tuple[int, int] = (0, 0)


class SharedCode:
    """Definitions of LLVM IR by content, with their symbols."""

    def __init__(self, environment: Environment, symbols: tuple[str, ...] = ()) -> None:
        self.environment = environment
        self.symbols = symbols
        """The names that the layout exports, by number."""
        self._functions: dict[tuple[str, str], str] = {}
        self._dsds: dict[str, str] = {}
        self.texts: list[str] = []

    def function(self, name: str, before: str, behind: str) -> str:
        """The symbol of a function with the definition `before`, symbol, `behind`."""
        key = (before, behind)
        if key not in self._functions:
            symbol = f"f{len(self._functions)}_{name}"
            self._functions[key] = symbol
            self.texts.append(f"define internal {before} @{symbol}{behind}\n")
        return self._functions[key]

    def reserve(self, name: str) -> str:
        """Reserve the symbol of a recursive function, which is called before it is generated."""
        symbol = f"r{len(self.texts)}_{len(self._functions)}_{name}"
        self._functions[(symbol, "")] = symbol
        return symbol

    def define(self, symbol: str, before: str, behind: str) -> None:
        """Define a function with a reserved symbol."""
        self.texts.append(f"define internal {before} @{symbol}{behind}\n")

    def dsd(self, words: str) -> str:
        """The name of a constant descriptor."""
        if words not in self._dsds:
            self._dsds[words] = f"@d{len(self._dsds)}"
            self.texts.append(
                f"{self._dsds[words]} = internal constant [16 x i16] [{words}], align 8\n"
            )
        return self._dsds[words]
