# SPDX-License-Identifier: Apache-2.0
"""Runs tile kernels in NumPy and detects races."""
