# SPDX-License-Identifier: Apache-2.0
"""Parts of group-rows and tile-rows: operations over the same rows, in one kernel."""
