# SPDX-License-Identifier: Apache-2.0
"""Builders of operations."""
