# SPDX-License-Identifier: Apache-2.0
"""The functions of the language, `@name(...)`: one file for each subject."""
