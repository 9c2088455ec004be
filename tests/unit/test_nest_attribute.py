# SPDX-License-Identifier: Apache-2.0
"""Loop nests as attributes round-trip, and malformed ones are refused."""

from __future__ import annotations

import pytest

from xtc.core.errors import UserError
from xtc.ir import mlir
from xtc.loops import ALL, Axis, Nest, NestLoop, Segment, Space
from xtc.loops.nest_attribute import is_nest, nest_attribute, nest_of
from xtc.loops.nest_yaml import nest_line

_LOOPS = (
    NestLoop("j", pack=(1, 0), parallelize=True),
    NestLoop("i", distribute="px", shard=((0, ("mx", "*")),)),
    NestLoop("k", 16, fuse=(0,), buffer=True),
    NestLoop("i", 8, name="i1", unroll=ALL),
    NestLoop("j", 32, vectorize=True),
)


def test_all_fields_round_trip() -> None:
    space = Space((Axis("i", 100),))
    low = Segment("i", 0, 96, Nest(space, (NestLoop("i", 4, unroll=4),)))
    high = Segment("i", 96, 100, Nest(space, (NestLoop("i"),)))
    nest = Nest(Space(()), _LOOPS, (low, high))
    with mlir.Context():
        attribute = nest_attribute(nest)
        assert is_nest(attribute)
        read = nest_of(mlir.Attribute.parse(str(attribute)))
    assert read.loops == nest.loops
    assert [s.name for s in read.segments] == ["i[0:96]", "i[96:100]"]
    assert [s.nest.loops for s in read.segments] == [low.nest.loops, high.nest.loops]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{axis = "i", tiel = 4}]', "loop.schedule has a loop with 'tiel'"),
        ('[{axis = "i", tile = "4"}]', "'tile' of a loop of loop.schedule cannot be \"4\""),
        ("[{tile = 4}]", "a loop of loop.schedule has no 'axis'"),
        ('[{axis = "i", nest = []}]', "a segment of loop.schedule has no 'start'"),
        ('[{axis = "i", vectorize = 1}]', "'vectorize' of a loop of loop.schedule cannot be 1"),
        ('[{axis = "i", shard = {x = ["a"]}}]', "'shard' of a loop of loop.schedule cannot be"),
    ],
)
def test_malformed_attributes_are_refused(text: str, message: str) -> None:
    with mlir.Context(), pytest.raises(UserError) as error:
        nest_of(mlir.Attribute.parse(text))
    assert message in str(error.value)


def test_deep_segments_are_refused() -> None:
    text = '[{axis = "i", start = 0, stop = 1, nest = ' * 20 + "[]" + "}]" * 20
    with mlir.Context(), pytest.raises(UserError, match="nested too deep"):
        nest_of(mlir.Attribute.parse(text))


def test_a_nest_prints_as_one_line() -> None:
    loops = (NestLoop("j", parallelize=True, pack=(1,)), NestLoop("i", 8, unroll=ALL))
    assert nest_line(Nest(Space(()), loops)) == '["j=parallelize,pack:1", "i#8=unroll"]'
