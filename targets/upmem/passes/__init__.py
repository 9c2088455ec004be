# SPDX-License-Identifier: Apache-2.0
"""Passes that only this target uses."""
