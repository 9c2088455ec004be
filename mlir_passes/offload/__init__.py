# SPDX-License-Identifier: Apache-2.0
"""Passes that place code and data on devices, for the driver's program pipeline."""
