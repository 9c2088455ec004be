# SPDX-License-Identifier: Apache-2.0
"""The protocol between a fork server and its client, over a Unix domain socket.

A request is its length, together with four descriptors (the command's standard streams, and a pipe
for the answer), and then the command as JSON. Two numbers arrive on the pipe: the process's id,
and after its end its exit code, in the convention of `subprocess`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from tools.forks.command import Command

_LENGTH = struct.Struct("=Q")
_NUMBER = struct.Struct("=i")
_DESCRIPTORS = 4


def send_request(channel: socket.socket, command: Command, descriptors: Sequence[int]) -> None:
    """Request a command. Raises OSError if the server has ended."""
    body = json.dumps(asdict(command)).encode()
    socket.send_fds(channel, [_LENGTH.pack(len(body))], descriptors)
    channel.sendall(body)


def receive_request(channel: socket.socket) -> tuple[Command, list[int]] | None:
    """The next command and its descriptors; None if the client has ended."""
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, _DESCRIPTORS)
    if not head:
        return None
    (length,) = _LENGTH.unpack(head)
    body = bytearray()
    while len(body) < length:
        chunk = channel.recv(length - len(body))
        if not chunk:
            return None
        body += chunk
    fields: dict[str, Any] = json.loads(body)
    return Command(**fields), descriptors


def write_number(pipe: int, number: int) -> None:
    """Send a number; a reader that has ended is ignored."""
    try:
        os.write(pipe, _NUMBER.pack(number))
    except BrokenPipeError:
        return


def read_number(pipe: IO[bytes]) -> int:
    """The next number. Raises EOFError if the server ended before sending it."""
    data = pipe.read(_NUMBER.size)
    if len(data) < _NUMBER.size:
        raise EOFError("the fork server ended before the command did")
    number: int = _NUMBER.unpack(data)[0]
    return number
