# SPDX-License-Identifier: Apache-2.0
"""Analyses, which do not change the IR: contractions, indices, effects, views."""
