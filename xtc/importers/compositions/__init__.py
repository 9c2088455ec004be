# SPDX-License-Identifier: Apache-2.0
"""What importers write out of several operators: graphs have none for it."""
