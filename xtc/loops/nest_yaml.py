# SPDX-License-Identifier: Apache-2.0
"""Writes loop nests as data that `parse_nest` reads."""

from __future__ import annotations

import json

from xtc.loops.nest import ALL, Nest, NestLoop
from xtc.loops.words import REASSOCIATE

_VECTOR = "vectorize"
_FLAGS = (_VECTOR, "parallelize", "buffer")


def nest_data(nest: Nest) -> str:
    """The nest as one line of YAML, without the loops' names.

    It is a mapping, or a list if two loops have the same key, like tiles of the same size.
    """
    parts = [_loop_data(loop) for loop in nest.loops]
    parts += [f"'{segment.name}': {nest_data(segment.nest)}" for segment in nest.segments]
    keys = [_key(loop) for loop in nest.loops]
    items = ", ".join(parts)
    return "{" + items + "}" if len(set(keys)) == len(keys) else f"[{items}]"


def _key(loop: NestLoop) -> str:
    return loop.axis if loop.tile is None else f"{loop.axis}#{loop.tile}"


def _loop_data(loop: NestLoop) -> str:
    words = [f"{word}: true" for word in ("parallelize", "buffer") if getattr(loop, word)]
    if loop.vectorize:
        words.append(f"vectorize: {REASSOCIATE if loop.reassociate else 'true'}")
    if loop.unroll:
        words.append("unroll: true" if loop.unroll == ALL else f"unroll: {loop.unroll}")
    words += [
        f"{word}: {list(getattr(loop, word))}" for word in ("pack", "fuse") if getattr(loop, word)
    ]
    if loop.consumer:
        words.append("fuse_consumer: true")
    if loop.distribute:
        words.append(f"distribute: {loop.distribute}")
    if loop.spread:
        words.append(f"spread: {{{', '.join(_spread_data(*entry) for entry in loop.spread)}}}")
    if loop.external:
        words.append(f"external: {loop.external.data}")
    return f"{_key(loop)}: {{{', '.join(words)}}}"


def _spread_data(operand: int, axes: tuple[str, ...]) -> str:
    return f"{operand}: [{', '.join(chr(39) + axis + chr(39) for axis in axes)}]"


def nest_line(nest: Nest) -> str:
    """A nest without segments as one line, `["j", "i", "i#4=unroll"]`."""
    return json.dumps([_item(loop) for loop in nest.loops])


def _item(loop: NestLoop) -> str:
    words = [word for word in _FLAGS if getattr(loop, word)]
    words = [f"{w}:{REASSOCIATE}" if w == _VECTOR and loop.reassociate else w for w in words]
    if loop.unroll:
        words.append("unroll" if loop.unroll == ALL else f"unroll:{loop.unroll}")
    words += [f"{word}:{n}" for word in ("pack", "fuse") for n in getattr(loop, word)]
    words += ["fuse_consumer"] * loop.consumer
    words += [f"distribute:{loop.distribute}"] * bool(loop.distribute)
    return f"{_key(loop)}={','.join(words)}" if words else _key(loop)
