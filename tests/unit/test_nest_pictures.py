# SPDX-License-Identifier: Apache-2.0
"""Pictures of loop nests show the order in which loops run."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools.nest_order import Block, blocks, packed_tile
from tools.nest_pictures import PICTURES, SIZE, matmul_schedule


def test_loops_visit_rows_in_order() -> None:
    found = blocks(matmul_schedule().nest, "i", "j")
    assert found == [Block(row, column) for row in range(SIZE) for column in range(SIZE)]


def test_loops_visit_tiles_in_order() -> None:
    product = matmul_schedule().tile("i", {"i1": 4}).tile("j", {"j1": 2})
    found = blocks(product.interchange(["j", "i", "k", "i1", "j1"]).nest, "i", "j")
    assert found == [
        Block(i + i1, j + j1)
        for j in range(0, SIZE, 2)
        for i in range(0, SIZE, 4)
        for i1 in range(4)
        for j1 in range(2)
    ]


def test_the_last_tile_is_the_remainder() -> None:
    found = blocks(matmul_schedule().tile("i", {"i1": 3}).nest, "i", "k")
    assert sorted({cell.row for cell in found}) == list(range(SIZE))
    assert len(found) == SIZE * SIZE


def test_a_vector_is_one_block() -> None:
    found = blocks(matmul_schedule().tile("j", {"j1": 4}).vectorize(["j1"]).nest, "i", "j")
    assert found == [Block(row, column, 1, 4) for row in range(SIZE) for column in (0, 4)]


def test_the_packed_tile_is_what_the_inner_loops_read() -> None:
    product = matmul_schedule().tile("j", {"j1": 4}).tile("k", {"k1": 2})
    assert packed_tile(product.pack_at("j", 1).nest, "k", "j") == Block(0, 0, SIZE, 4)
    inner = matmul_schedule().tile("j", {"j1": 4}).tile("k", {"k1": 2}).pack_at("k", 1)
    assert packed_tile(inner.nest, "k", "j") == Block(0, 0, 2, 4)
    with pytest.raises(ValueError, match="no loop packs"):
        packed_tile(matmul_schedule().nest, "k", "j")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_and_well_formed(name: str) -> None:
    text = PICTURES[name]()
    root = ElementTree.fromstring(text)  # noqa: S314  our own
    assert len(text) < 20_000
    assert "prefers-color-scheme:dark" in text
    assert {"before", "after"} <= {
        str(element.text).partition(":")[0]
        for element in root.iter()
        if element.tag.endswith("}text")
    }
