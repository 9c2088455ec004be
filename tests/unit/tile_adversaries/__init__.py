# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with one race or deadlock each, and their legal twins; marks identify lines."""
