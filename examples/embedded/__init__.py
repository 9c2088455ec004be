# SPDX-License-Identifier: Apache-2.0
"""Firmware in C that calls a compiled network."""
