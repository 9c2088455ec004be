# SPDX-License-Identifier: Apache-2.0
"""Compositions: functions that importers expand into several graph operators."""
