# SPDX-License-Identifier: Apache-2.0
"""Passes that more than one target uses, one per file; imported as `xtc_passes`."""
