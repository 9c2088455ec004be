# SPDX-License-Identifier: Apache-2.0
"""A server process that has imported its modules and forks a child for each request.

A fork takes a millisecond, a new interpreter a third of a second. The server has a single thread,
so its children inherit no locks. Requests and replies are JSON, each preceded by its length.
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
    """Answer requests on standard input, in order, until it ends.

    `prepare` runs on each request in this process without limits; children of this and later
    requests inherit its state.
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
        except BrokenPipeError:  # the client was killed
            return


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes of this process, with standard input and output closed."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return io.FileIO(requests, "r"), io.FileIO(replies, "w")


def write_request(job: Job, limits: Limits, what: str) -> bytes:
    """The request message for `job`."""
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
