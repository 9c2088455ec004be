# SPDX-License-Identifier: Apache-2.0
"""The prelude of C code: headers, vector types and helpers, each once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from xtc.codegen.c import helpers
from xtc.codegen.c.types import CType

_UNSIGNED = "u32"
_HEADERS_OF_LITERALS = {
    "INFINITY": "math.h",
    "NAN": "math.h",
    "INT32_MIN": "stdint.h",
    "INT64_MIN": "stdint.h",
    "true": "stdbool.h",
    "false": "stdbool.h",
}
_WORD = re.compile(r"[A-Za-z_]\w*")


class Prelude:
    """Collects the headers, types and helpers in use, each after its dependences."""

    def __init__(self) -> None:
        self._headers = {"stddef.h"}
        self._types: dict[str, str] = {}
        self._functions: dict[str, str] = {}

    def text(self, code: str) -> str:
        """The headers, and the types and helpers that `code` uses."""
        functions = _used(self._functions, code)
        types = _used(self._types, "\n".join([*functions, code]))
        literals = _HEADERS_OF_LITERALS.keys() & _WORD.findall(code)
        names = self._headers | {_HEADERS_OF_LITERALS[literal] for literal in literals}
        headers = "\n".join(f"#include <{name}>" for name in sorted(names))
        return "\n\n".join(part for part in (headers, "\n".join(types), *functions) if part)

    def include(self, header: str) -> None:
        """Include a header."""
        self._headers.add(header)

    def type(self, type: CType) -> str:
        """Declare a type and return its name."""
        scalar = type.scalar
        if scalar.element == "i1":
            self.include("stdbool.h")
        elif scalar.element == "bf16":
            self.include("stdint.h")
            self._types.setdefault("bf16", helpers.BF16_TYPE)
        elif not scalar.is_float and scalar.element != "index":
            self.include("stdint.h")
        if type.lanes:
            self._types.setdefault(type.name, helpers.vector_type(type))
        return type.name

    def load(self, type: CType) -> str:
        """The function that loads a vector."""
        return self._access("load", type, helpers.load)

    def store(self, type: CType) -> str:
        """The function that stores a vector."""
        return self._access("store", type, helpers.store)

    def load_part(self, type: CType) -> str:
        """The function that loads the first lanes of a vector."""
        return self._partial("load_part", type, helpers.load_part)

    def store_part(self, type: CType) -> str:
        """The function that stores the first lanes of a vector."""
        return self._partial("store_part", type, helpers.store_part)

    def _partial(self, kind: str, type: CType, text: Callable[[CType], str]) -> str:
        for header in ("immintrin.h", "string.h"):
            self.include(header)
        self.type(type)
        self.type(type.mask)
        return self.define(f"{kind}_{type.short}", text(type))

    def _access(self, kind: str, type: CType, text: Callable[[CType], str]) -> str:
        self.type(type)
        self._types.setdefault(f"{type.name}_u", helpers.memory_type(type))
        return self.define(f"{kind}_{type.short}", text(type))

    def splat(self, type: CType) -> str:
        """The function that splats a scalar."""
        self.type(type)
        return self.define(f"splat_{type.short}", helpers.splat(type))

    def select(self, type: CType) -> str:
        """The function that selects lanes by a mask."""
        self.type(type)
        self.type(type.mask)
        return self.define(f"select_{type.short}", helpers.select(type))

    def extreme(self, kind: str, type: CType) -> str:
        """The function `maximum`, `minimum`, `umaximum` or `uminimum` of a type."""
        self.type(type)
        if type.lanes:
            self.type(type.mask)
        if not type.is_float:
            return self.define(
                f"{kind}_{type.short}", helpers.integer_extreme(kind, type), "stdint.h"
            )
        return self.define(f"{kind}_{type.short}", helpers.extreme(kind, type), "math.h")

    def by_lane(self, function: str, name: str, type: CType, arguments: Sequence[str]) -> str:
        """The function that applies a C library function to each lane."""
        self.type(type)
        text = helpers.by_lane(function, name, type, arguments)
        return self.define(f"{name}_{type.short}", text, "math.h")

    def division(self, name: str) -> str:
        """`floor_div` or `ceil_div`."""
        return self.define(name, helpers.division(name))

    def float_of_bf16(self, lanes: int) -> str:
        """The function that converts bf16 to float."""
        self.type(CType("bf16", lanes))
        if not lanes:
            return self.define("float_of_bf16", helpers.FLOAT_OF_BF16, "string.h")
        self._bits_of_floats(lanes)
        return self.define(f"float_of_bf16x{lanes}", helpers.floats_of_bf16(lanes))

    def bf16_of_float(self, lanes: int) -> str:
        """The function that rounds float to bf16."""
        self.type(CType("bf16", lanes))
        if not lanes:
            return self.define("bf16_of_float", helpers.BF16_OF_FLOAT, "string.h")
        self._bits_of_floats(lanes)
        return self.define(f"bf16_of_f32x{lanes}", helpers.bf16_of_floats(lanes))

    def _bits_of_floats(self, lanes: int) -> None:
        self.type(CType("f32", lanes))
        name = f"{_UNSIGNED}x{lanes}"
        size = 4 * lanes
        self._types.setdefault(
            name, f"typedef uint32_t {name} __attribute__((vector_size({size})));"
        )

    def define(self, name: str, text: str, header: str = "stddef.h") -> str:
        """Define a helper, printed before all functions if one mentions it; return its name."""
        self.include(header)
        self._functions.setdefault(name, text)
        return name


def _used(definitions: Mapping[str, str], code: str) -> list[str]:
    """The definitions that `code` or a later definition in use mentions."""
    used: list[str] = []
    words = set(_WORD.findall(code))
    for name, text in reversed(list(definitions.items())):
        if name in words:
            used.append(text)
            words.update(_WORD.findall(text))
    return used[::-1]
