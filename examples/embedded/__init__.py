# SPDX-License-Identifier: Apache-2.0
"""A firmware in C that calls a compiled network."""
