# SPDX-License-Identifier: Apache-2.0
"""Closing waits for in-flight calls of other threads only."""

from __future__ import annotations

import os
import threading

import pytest

from xtc.core.errors import UserError
from xtc.driver.in_flight_calls import InFlightCalls


def in_a_use(uses: InFlightCalls, until: threading.Event) -> threading.Thread:
    """A thread that is inside a use until the event."""
    begun = threading.Event()

    def use() -> None:
        with uses:
            begun.set()
            until.wait()

    thread = threading.Thread(target=use)
    thread.start()
    begun.wait()
    return thread


def test_closing_waits_for_other_threads_and_refuses_new_uses() -> None:
    uses, until = InFlightCalls("the thing"), threading.Event()
    user = in_a_use(uses, until)
    closer = threading.Thread(target=uses.close)
    closer.start()
    while not uses.closed:
        pass
    with pytest.raises(UserError, match="the thing is closed"), uses:
        pass
    assert closer.is_alive()
    until.set()
    closer.join()
    user.join()
    uses.close()


def test_a_thread_cannot_wait_for_itself() -> None:
    uses = InFlightCalls("the thing")
    with uses, pytest.raises(UserError, match="the thing cannot be closed while it runs"):
        uses.close()
    assert not uses.closed
    uses.close()


def test_a_failed_use_has_ended() -> None:
    uses = InFlightCalls("the thing")
    with pytest.raises(ZeroDivisionError), uses:
        raise ZeroDivisionError
    uses.close()


def test_a_child_process_does_not_wait_for_threads_of_its_parent() -> None:
    uses, until = InFlightCalls("the thing"), threading.Event()
    user = in_a_use(uses, until)
    child = os.fork()
    if child == 0:
        uses.close()
        os._exit(3)
    until.set()
    user.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
