# SPDX-License-Identifier: Apache-2.0
"""The private folder of the package `cerebras`."""
