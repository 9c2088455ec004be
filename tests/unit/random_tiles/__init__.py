# SPDX-License-Identifier: Apache-2.0
"""Random tile kernels as source text, with what NumPy computes for each."""
