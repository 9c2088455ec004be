# SPDX-License-Identifier: Apache-2.0
"""The built-in functions of the language, `@name(...)`: one file per subject."""
