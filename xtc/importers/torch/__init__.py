# SPDX-License-Identifier: Apache-2.0
"""Reads PyTorch: exported programs, and what torch.compile traces."""
