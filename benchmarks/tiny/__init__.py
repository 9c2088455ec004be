# SPDX-License-Identifier: Apache-2.0
"""The four networks of MLPerf Tiny as int8 graphs with random weights."""
