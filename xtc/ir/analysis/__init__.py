# SPDX-License-Identifier: Apache-2.0
"""Analyses of IR that change nothing: contractions, indices, effects, views."""
