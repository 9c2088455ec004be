# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs, simulated unless configured otherwise."""
