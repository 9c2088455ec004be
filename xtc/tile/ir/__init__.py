# SPDX-License-Identifier: Apache-2.0
"""Layouts and tensors under the module names of Tilus, so that a kernel's imports stay."""
