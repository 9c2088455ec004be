# SPDX-License-Identifier: Apache-2.0
"""What programs written for the vendor's SDK meet: its commands and its host library."""
