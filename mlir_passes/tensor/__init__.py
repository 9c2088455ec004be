# SPDX-License-Identifier: Apache-2.0
"""Passes on tensors and loop nests."""
