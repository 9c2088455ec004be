# SPDX-License-Identifier: Apache-2.0
"""Runs Python commands in processes forked from one that has already imported their modules."""
