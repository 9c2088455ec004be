# SPDX-License-Identifier: Apache-2.0
"""Passes of this target alone."""
