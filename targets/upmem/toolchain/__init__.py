# SPDX-License-Identifier: Apache-2.0
"""Compiles C to DPU programs, and builds the host's library that runs them."""
