# SPDX-License-Identifier: Apache-2.0
"""Conditions of statements, and the end of a kernel by a return in a branch or loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.instructions.groups import group_left
from xtc.tile.transcription import branches
from xtc.tile.transcription.choices import Choices, truth
from xtc.tile.transcription.kernel_ends import ENDED, Ends, ended_in
from xtc.tile.transcription.slots import Unset
from xtc.tile.values import arithmetic


class Endings(Choices):
    """Transcribes statements under the condition that the kernel has not ended."""

    ends: Ends

    def _unless_ended(self, rest: Callable[[], None]) -> bool:
        """Transcribe the statements that follow under the condition that the kernel has not ended.
        False, without effect, if nothing can have ended it."""
        ended = ended_in(self._names())
        if ended is False:
            return False
        if isinstance(ended, Unset):
            raise group_left()
        goes = truth(arithmetic.unary("not", ended))
        branches.branch(self._names(), goes, (partial(self._going_on, rest), self._end))
        return True

    def _going_on(self, rest: Callable[[], None]) -> None:
        self.frames[0].names[ENDED].ended = False
        rest()

    def _end(self) -> None:
        self.frames[0].names[ENDED].ended = True

    def require_going(self) -> None:
        """Raise UserError if a part of an expression may have ended the kernel."""
        if ended_in(self._names()) is not False:
            raise UserError(
                "a method that may end the kernel is called inside of an expression",
                notes=["a bare return in a branch or loop ends the kernel, in methods too"],
                hints=["assign what the method returns to a variable first"],
            )

    def condition(self, node: ast.expr) -> Any:
        """The value of a statement's condition."""
        found = self.evaluate(node)
        self.require_going()
        return found

    def _may_end(self, body: Sequence[ast.stmt]) -> bool:
        """Whether statements of this frame may end the kernel."""
        known = {**self.frame.outer, **self.frame.names, "self": self.frame.names.get("self")}
        return self.ends.may_end(body, known.get)
