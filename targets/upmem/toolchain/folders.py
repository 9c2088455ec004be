# SPDX-License-Identifier: Apache-2.0
"""The folders of C sources: the host's library, the simulator, and the DPU run-time library."""

from __future__ import annotations

from pathlib import Path

OWN_CSRC = Path(__file__).parents[1] / "csrc"
INCLUDE = OWN_CSRC / "include"
"""Headers of the host's library."""
SHARED = OWN_CSRC / "shared"
"""Headers of the simulator and of device code."""
DEVICE = OWN_CSRC / "device"
"""The run-time library of device code."""
