# SPDX-License-Identifier: Apache-2.0
"""Whole programs of many kinds, a file each, with a case that compares them with NumPy."""
