# SPDX-License-Identifier: Apache-2.0
"""Writes loop nests as data that `parse_nest` reads."""

from __future__ import annotations

import json

from xtc.loops.annotations import REASSOCIATE
from xtc.loops.nest import ALL, Nest, NestLoop

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
    annotations = [
        f"{annotation}: true"
        for annotation in ("parallelize", "buffer")
        if getattr(loop, annotation)
    ]
    if loop.vectorize:
        annotations.append(f"vectorize: {REASSOCIATE if loop.reassociate else 'true'}")
    if loop.unroll:
        annotations.append("unroll: true" if loop.unroll == ALL else f"unroll: {loop.unroll}")
    annotations += [
        f"{annotation}: {list(getattr(loop, annotation))}"
        for annotation in ("pack", "fuse")
        if getattr(loop, annotation)
    ]
    if loop.consumer:
        annotations.append("fuse_consumer: true")
    if loop.distribute:
        annotations.append(f"distribute: {loop.distribute}")
    if loop.shard:
        annotations.append(f"shard: {{{', '.join(_shard_data(*entry) for entry in loop.shard)}}}")
    if loop.external:
        annotations.append(f"external: {loop.external.data}")
    return f"{_key(loop)}: {{{', '.join(annotations)}}}"


def _shard_data(operand: int, axes: tuple[str, ...]) -> str:
    return f"{operand}: [{', '.join(chr(39) + axis + chr(39) for axis in axes)}]"


def nest_line(nest: Nest) -> str:
    """A nest without segments as one line, `["j", "i", "i#4=unroll"]`."""
    return json.dumps([_item(loop) for loop in nest.loops])


def _item(loop: NestLoop) -> str:
    annotations = [annotation for annotation in _FLAGS if getattr(loop, annotation)]
    annotations = [
        f"{w}:{REASSOCIATE}" if w == _VECTOR and loop.reassociate else w for w in annotations
    ]
    if loop.unroll:
        annotations.append("unroll" if loop.unroll == ALL else f"unroll:{loop.unroll}")
    annotations += [
        f"{annotation}:{n}" for annotation in ("pack", "fuse") for n in getattr(loop, annotation)
    ]
    annotations += ["fuse_consumer"] * loop.consumer
    annotations += [f"distribute:{loop.distribute}"] * bool(loop.distribute)
    return f"{_key(loop)}={','.join(annotations)}" if annotations else _key(loop)
