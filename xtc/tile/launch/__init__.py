# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels, their arguments, and launches."""
