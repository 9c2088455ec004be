# SPDX-License-Identifier: Apache-2.0
"""xtc cache: list and prune the artifact cache."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence

from xtc.core.errors import ArtifactError, UserError
from xtc.core.knobs import parse_size
from xtc.interfaces.artifact import MANIFEST_FILE, Manifest
from xtc.system.cache import ArtifactCache, Entry, Removed, configured_cache

_AGE = re.compile(r"(\d+)([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc cache", description="List or prune the cache of compiled artifacts."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list all entries, the most recently used first")
    prune = actions.add_parser("prune", help="drop the least recently used entries")
    prune.add_argument(
        "--limit", metavar="SIZE", help="size to keep, such as 500M (default: XTC_CACHE_LIMIT)"
    )
    prune.add_argument(
        "--older-than",
        metavar="AGE",
        help="drop entries not used for this time, such as 30m, 12h, 7d or 4w",
    )
    actions.add_parser("clear", help="drop every entry")
    actions.add_parser("path", help="print the folder of the cache")
    return parser


def run(argv: Sequence[str]) -> int:
    """The command on its arguments; returns the exit code. Raises UserError."""
    args = _parser().parse_args(argv)
    cache = configured_cache()
    try:
        _ACTIONS[args.action](cache, args)
    except OSError as error:
        raise UserError(
            f"the artifact cache {cache.root} cannot be used: {error.strerror or error}"
        ) from None
    return 0


def _list(cache: ArtifactCache, _: argparse.Namespace) -> None:
    entries = cache.entries()
    total = sum(entry.size for entry in entries)
    limit = size_text(cache.limit_bytes)
    held = f"{count_text(len(entries))}, {size_text(total)} of {limit}"
    sys.stdout.write(f"{held}, in {cache.root}\n")
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        sys.stdout.write(
            f"{entry.key[:12]}  {used}  {size_text(entry.size):>10}  {_description(entry)}\n"
        )


def _prune(cache: ArtifactCache, args: argparse.Namespace) -> None:
    limit = _parsed(parse_size, args.limit, "--limit")
    _print_removed(cache.prune(limit, _parsed(parse_age, args.older_than, "--older-than")))


def _clear(cache: ArtifactCache, _: argparse.Namespace) -> None:
    _print_removed(cache.clear())


def _path(cache: ArtifactCache, _: argparse.Namespace) -> None:
    sys.stdout.write(f"{cache.root}\n")


_ACTIONS: dict[str, Callable[[ArtifactCache, argparse.Namespace], None]] = {
    "list": _list,
    "prune": _prune,
    "clear": _clear,
    "path": _path,
}


def parse_age(text: str) -> int:
    """Seconds in `30m`, `12h`, `7d` or `4w`. Raises ValueError."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise ValueError("must be a number followed by m, h, d or w")
    return int(match[1]) * _SECONDS[match[2]]


def count_text(count: int) -> str:
    """`1 entry`, `2 entries`."""
    return "1 entry" if count == 1 else f"{count} entries"


def size_text(size: int) -> str:
    """A human-readable size."""
    value, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.4g} {units[0]}"


def _parsed(parse: Callable[[str], int], text: str | None, option: str) -> int | None:
    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise UserError(f"{option} is {text!r}: it {error}") from None


def _description(entry: Entry) -> str:
    """The target and the function of an entry, if its manifest can be read."""
    path = entry.folder / MANIFEST_FILE
    try:
        manifest = Manifest.from_json(path.read_text(), path)
    except (OSError, UnicodeDecodeError, ArtifactError):
        return "damaged"
    shapes = ", ".join(
        f"{a.name}: {'x'.join(map(str, (*a.shape, a.dtype)))}" for a in manifest.arguments
    )
    return f"{manifest.target}  {manifest.entry}({shapes})"


def _print_removed(removed: Removed) -> None:
    sys.stdout.write(f"removed {count_text(removed.count)}, {size_text(removed.size)}\n")
