# SPDX-License-Identifier: Apache-2.0
"""Passes for machines whose cores compute in a small local memory that a copy engine fills."""
