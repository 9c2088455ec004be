# SPDX-License-Identifier: Apache-2.0
"""The search for the schedule of a kernel."""
