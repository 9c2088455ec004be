# SPDX-License-Identifier: Apache-2.0
"""The functions of the table, by family; importing this package fills the table."""

from xtc.importers.torch.ops import arithmetic, layers, movement, reduction, sampling

__all__ = ["arithmetic", "layers", "movement", "reduction", "sampling"]
