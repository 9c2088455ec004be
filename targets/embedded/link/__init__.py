# SPDX-License-Identifier: Apache-2.0
"""A small static linker for bare-metal images."""
