# SPDX-License-Identifier: Apache-2.0
"""From object files to an image: a small static linker for bare metal."""
