# SPDX-License-Identifier: Apache-2.0
"""The log of tile kernels, with the interface of Tilus 0.2."""

from __future__ import annotations

import logging

NAME = "xtc.tile"


def init_logging(level: str = "INFO") -> None:
    """Log messages of this level and above to standard error; a second call changes the level."""
    logger = logging.getLogger(NAME)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
    set_logging_level(level)


def set_logging_level(level: str) -> None:
    """Log messages of this level, such as "DEBUG" or "ERROR", and above."""
    logging.getLogger(NAME).setLevel(level.upper())


def get_logger(name: str = NAME) -> logging.Logger:
    """The logger of this name."""
    return logging.getLogger(name)
