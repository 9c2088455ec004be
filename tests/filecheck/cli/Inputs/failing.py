# SPDX-License-Identifier: Apache-2.0
"""A program that fails before it has a graph."""


def rows() -> int:
    raise ValueError("no rows")


rows()
