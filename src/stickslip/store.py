"""Compiled code on the disk: one folder for all of it, limited in size, read only if it is whole.

It is $STICKSLIP_CACHE_DIR, or `stickslip` in the user's cache folder. Where that cannot be written (a container with a
read-only home), a folder of this user among the temporary files takes its place, and a warning says so; what the wanted one
holds is still read. No trouble
with the cache ends a run: what cannot be read is compiled again, what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from stickslip.errors import CacheWarning
from stickslip.turns import Turn, turn

CACHE_SIZE = 512 * 2**20  # bytes that are kept
ABANDONED = 3600.0  # seconds after which a file in the making belongs to a process that was killed


def cache_directory() -> Path:
    """Where compiled code is wanted: $STICKSLIP_CACHE_DIR, or `stickslip` in the user's cache directory."""
    if chosen := os.environ.get("STICKSLIP_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stickslip"


def usable_directory() -> Path | None:
    """Where compiled code is kept: as wanted, else among the temporary files, else nowhere."""
    try:
        wanted = cache_directory()
    except RuntimeError:  # there is no home directory
        wanted = None
    return _usable(wanted)


def _filled() -> Path | None:
    """The wanted folder, where another one is used: an image may have a cache that was filled before it became read-only."""
    try:
        wanted = cache_directory()
    except RuntimeError:
        return None
    return None if wanted == usable_directory() else wanted


@cache
def _usable(wanted: Path | None) -> Path | None:
    """The decision for one wanted place, made and explained once in a process."""
    if wanted is not None and _is_writable(wanted):
        return wanted
    instead = Path(tempfile.gettempdir()) / f"stickslip-{_user()}"
    place = instead if _is_writable(instead) and _is_private(instead) else None
    where = wanted or "the home directory"
    if place is None:
        text = (
            f"neither {where} nor {instead} can be written: compiled code is not kept, and every process compiles anew"
        )
    else:
        text = f"{where} cannot be written: compiled code is kept in {place}"
    warnings.warn(f"{text}. Set STICKSLIP_CACHE_DIR to a folder that can be written", CacheWarning, stacklevel=2)
    return place


def _is_writable(directory: Path) -> bool:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _is_private(directory: Path) -> bool:
    """Whether nobody else can write there: what lies in it will be executed."""
    if sys.platform == "win32":
        return True
    status = directory.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


@dataclass
class Store:
    """Files with checksums, `<key><suffix>`, in a directory, or in the usable one; `loaded` counts those that were read."""

    suffix: str
    directory: Path | None = None
    loaded: int = 0
    written: int = CACHE_SIZE  # bytes since the size of the cache was looked at: look at the first occasion
    lock: threading.Lock = field(default_factory=threading.Lock)

    def place(self) -> Path | None:
        """Where the files are."""
        return self.directory or usable_directory()

    def read(self, key: str) -> bytes | None:
        """The content; None if there is none, or if it is damaged (as machine code it would end the process)."""
        for place in (self.place(), None if self.directory is not None else _filled()):
            if place is None:
                continue
            file = place / f"{key}{self.suffix}"
            try:
                content = file.read_bytes()
            except OSError:
                continue
            checksum, data = content[:_CHECKSUM_SIZE], content[_CHECKSUM_SIZE:]
            if hashlib.sha256(data).digest() != checksum:
                continue
            with contextlib.suppress(OSError):
                os.utime(file)  # used just now: what is not used for long is deleted first
            self.loaded += 1
            return data
        return None

    def write(self, key: str, data: bytes) -> None:
        """Keep a content, whole or not at all: another process may read or write the same file."""
        place = self.place()
        if place is None:
            return
        try:
            place.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=place, suffix=".tmp")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            Path(name).replace(place / f"{key}{self.suffix}")
            with self.lock:
                self.written += len(data)
                look, self.written = self.written > CACHE_SIZE // 16, self.written % (CACHE_SIZE // 16)
            if look:
                prune(place, CACHE_SIZE)
        except OSError:
            Path(name).unlink(missing_ok=True)

    def turn(self, key: str) -> Turn | None:
        """The right to make a content, or None after having waited for another process that had it."""
        place = self.place()
        return None if place is None else turn(place / f"{key}{LOCKS}")


def prune(directory: Path, limit: int) -> None:
    """Delete what was not used for longest from a cache that has outgrown its limit, down to three quarters of it."""
    found = []
    for file in directory.iterdir():
        try:
            status = file.stat()
        except OSError:  # deleted by another process
            continue
        if file.suffix in (".tmp", LOCKS) and time.time() - status.st_mtime > ABANDONED:
            file.unlink(missing_ok=True)
        elif file.suffix in SUFFIXES:
            found.append((status.st_mtime, status.st_size, file))
    total = sum(size for _, size, _ in found)
    if total <= limit:
        return
    for _, size, file in sorted(found):
        file.unlink(missing_ok=True)
        total -= size
        if total <= 0.75 * limit:
            return


KERNELS, KEYS, LOOPS, LOCKS = ".o", ".key", ".loop", ".lock"
SUFFIXES = (KERNELS, KEYS, LOOPS)
_CHECKSUM_SIZE = hashlib.sha256().digest_size


# -- what compiled code is made of -----------------------------------------------------------------------------------------

_IMPORT = re.compile(r"^from (stickslip[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


@cache
def sources(module: str, compiler: str) -> str:
    """A hash of the compiler's version and of all sources that a module is made of: its own and, in turn, those it imports.

    What is imported inside of a function, or for annotations only, does not count.
    """
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = None if name in found else _file(name)
        if file is None:
            continue
        found[name] = file.read_bytes()
        for source, names in _IMPORT.findall(found[name].decode()):
            waiting += [source, *[f"{source}.{each}" for each in re.findall(r"\w+", names)]]
    whole = hashlib.sha256(compiler.encode())
    for name in sorted(found):
        whole.update(name.encode() + found[name])
    return whole.hexdigest()


@cache
def _file(module: str) -> Path | None:
    """The source of a module; of packages none, as they only gather names."""
    top, *below = module.split(".")
    if top == "stickslip":
        file = Path(__file__).parent.joinpath(*below).with_suffix(".py")
        return file if below and file.exists() else None
    source = getattr(sys.modules.get(module), "__file__", None)
    return Path(source) if source else None
