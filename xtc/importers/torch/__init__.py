# SPDX-License-Identifier: Apache-2.0
"""Reads exported PyTorch programs and graphs traced by torch.compile."""
