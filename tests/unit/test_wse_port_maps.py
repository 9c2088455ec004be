# SPDX-License-Identifier: Apache-2.0
"""Port maps of tensors, and refusals of invalid ones."""

from __future__ import annotations

import numpy as np
import pytest

from xtc.core.errors import UserError
from xtc_targets.wse.sdk.port_maps import (
    convert_input_tensor,
    format_output_tensor,
    prepare_output_tensor,
)

TILES = "{ A[j=0:5][i=0:3] -> [PE[i//2, j//3] -> index[i%2, j%3]] }"


def test_a_matrix_round_trips_by_columns() -> None:
    matrix = np.arange(24, dtype=np.float32).reshape(6, 4)
    *region, words = convert_input_tensor(TILES, matrix)
    assert region == [0, 0, 2, 2, 6]
    tiles = words.view(np.float32).reshape(2, 2, 2, 3)
    for j in range(6):
        for i in range(4):
            assert tiles[j // 3, i // 2, i % 2, j % 3] == matrix[j, i]
    assert np.array_equal(format_output_tensor(TILES, np.float32, words), matrix)


def test_elements_of_16_bits_lie_in_low_halves() -> None:
    row = "{x[i=0:3] -> [PE[1 + i / 2, -(0)] -> index[i - 2 * (i / 2)]]}"
    *region, words = convert_input_tensor(row, np.array([1, -1, 2, -2], np.int16))
    assert (region, list(words)) == ([1, 0, 2, 1, 2], [1, 0xFFFF, 2, 0xFFFE])
    *region, words = prepare_output_tensor(row, np.int16)
    assert (region, words.size) == ([1, 0, 2, 1, 2], 4)
    words[:] = [1, 0xFFFF, 2, 0xFFFE]
    assert list(format_output_tensor(row, np.int16, words)) == [1, -1, 2, -2]


def test_indices_of_a_pe_may_begin_anywhere() -> None:
    rows = "{ R[i=0:3, j=0:1] -> [PE[4, i // 2] -> index[i, j]] }"
    *region, words = convert_input_tensor(rows, np.arange(8, dtype=np.int32))
    assert (region, list(words)) == ([4, 0, 1, 2, 4], list(range(8)))


@pytest.mark.parametrize(
    ("portmap", "text"),
    [
        ("A -> PE", "'A -> PE' is not a port map"),
        ("{ A[i] -> [PE[0, 0] -> index[0]] }", "is not a port map"),
        ("{ A[i=3:0] -> [PE[0, 0] -> index[i]] }", "a range of a port map is empty"),
        ("{ A[i=0:3] -> [PE[0] -> index[i]] }", "a PE of a port map has a column and a row"),
        ("{ A[i=0:3] -> [PE[0, 0] -> index[k]] }", "'k' is not an expression of a port map"),
        ("{ A[i=0:3] -> [PE[0, 0] -> index[i ** 9]] }", "is not an expression of a port map"),
        ("{ A[i=0:3] -> [PE[0, 0] -> index[i % 0]] }", "is not an expression of a port map"),
        ("{ A[i=0:3] -> [PE[0, 0] -> index[i // 2]] }", "gives two elements the same location"),
        ("{ A[i=0:2] -> [PE[i // 2, 0] -> index[i]] }", "PEs different numbers of elements"),
        ("{ A[i=0:2] -> [PE[0, 0] -> index[i]] }", "the tensor has 4 elements, and its port map 3"),
    ],
)
def test_invalid_port_maps_are_refused(portmap: str, text: str) -> None:
    with pytest.raises(UserError, match=text.replace("[", r"\[").replace("*", r"\*")):
        convert_input_tensor(portmap, np.zeros(4, np.float32))


def test_elements_have_16_or_32_bits() -> None:
    with pytest.raises(UserError, match="elements of float64 are not copied"):
        convert_input_tensor("{ A[i=0:3] -> [PE[0, 0] -> index[i]] }", np.zeros(4))
