# SPDX-License-Identifier: Apache-2.0
"""A process that imported what its work needs, and forks a child for each request.

A fork of it takes a millisecond where a new interpreter takes a third of a second; and as it has
one thread, its children inherit no lock. Requests and replies are JSON, each behind its length.
"""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Callable
from typing import IO, Any

from xtc.core.errors import XtcError
from xtc.system.sandbox.child import run_in_child
from xtc.system.sandbox.limits import Limits
from xtc.system.sandbox.reply import encode_error, encode_result

Job = dict[str, Any]
_LENGTH = struct.Struct(">Q")


def serve(work: Callable[[Job], str], prepare: Callable[[Job], None] | None = None) -> None:
    """Answer requests on standard input, one after the other, until it ends.

    `prepare` is called on each request in this process, where nothing limits it, and what it keeps
    in memory is there for the children of this request and of later ones.
    """
    requests, replies = _own_pipes()

    def in_child(job: Job) -> str:
        requests.close()
        replies.close()
        return work(job)

    while True:
        request = receive(requests)
        if request is None:
            return
        try:
            send(replies, _answer(json.loads(request), in_child, prepare))
        except BrokenPipeError:  # whoever asked was killed
            return


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes that this process was started with, and nothing in their places."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return io.FileIO(requests, "r"), io.FileIO(replies, "w")


def write_request(job: Job, limits: Limits, what: str) -> bytes:
    """The message that asks for `job`."""
    limited = {"seconds": limits.seconds, "memory_bytes": limits.memory_bytes}
    return json.dumps({"job": job, "what": what, **limited}).encode()


def _answer(
    request: dict[str, Any],
    work: Callable[[Job], str],
    prepare: Callable[[Job], None] | None,
) -> bytes:
    limits = Limits(request["seconds"], request["memory_bytes"])
    job, what = request["job"], request["what"]
    try:
        if prepare is not None:
            prepare(job)
        return encode_result(run_in_child(lambda: work(job), limits, what=what))
    except XtcError as error:
        return encode_error(error)


def send(pipe: IO[bytes], message: bytes) -> None:
    """Write one message."""
    rest = memoryview(_LENGTH.pack(len(message)) + message)
    while rest:
        rest = rest[pipe.write(rest) :]


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read one message; None at the end of the pipe."""
    head = _read(pipe, _LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = _read(pipe, length)
    return message if len(message) == length else None


def _read(pipe: IO[bytes], length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = pipe.read(min(length - len(data), 1 << 20))
        if not chunk:
            break
        data += chunk
    return bytes(data)
