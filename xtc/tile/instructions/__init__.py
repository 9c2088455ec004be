# SPDX-License-Identifier: Apache-2.0
"""The instructions that a kernel may call, by group."""
