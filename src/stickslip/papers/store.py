"""Results on disk: one JSON file an item and size, its drawings as SVG files beside it, each written in one piece.

A result counts only for the code that made it: the key is the item, the size and a fingerprint of the library, so that an
interrupted reproduction continues where it stopped, and a changed library computes again.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from stickslip._version import __version__
from stickslip.errors import ResultFileError
from stickslip.papers.paper import SIZES, Exhibit, PaperFigure, Table, Verdict

KINDS: dict[str, type[Exhibit]] = {kind.__name__.lower(): kind for kind in (PaperFigure, Table, Verdict)}
PRESENTATION = {
    "cli.py",
    "papers/report.py",
    "papers/runner.py",
    "papers/store.py",
}  # they show results and do not change them


@dataclass(frozen=True)
class Result:
    """What a run of an item gave: its parts, how long it took, when, and by which code."""

    paper: str
    item: str
    quick: bool
    parts: tuple[Exhibit, ...]
    seconds: float
    date: str
    fingerprint: str

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts among its parts."""
        return [part for part in self.parts if isinstance(part, Verdict)]


@cache
def fingerprint() -> str:
    """Version and a digest of the library's sources and data.

    >>> fingerprint().startswith(__version__)
    True
    """
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.toml")]):
        name = path.relative_to(root).as_posix()
        if name not in PRESENTATION:
            digest.update(name.encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def place(out: Path, paper: str, item: str, quick: bool) -> Path:
    """The JSON file of a result."""
    return out / paper / f"{item}-{SIZES[quick]}.json"


def save(result: Result, out: Path) -> None:
    """Write a result; a crash in between leaves nothing that looks like one, because the JSON file comes last."""
    path = place(out, result.paper, result.item, result.quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    parts, count = [], 0
    for part in result.parts:
        entry: dict[str, Any] = {"kind": type(part).__name__.lower()} | asdict(part)
        if isinstance(part, PaperFigure):
            count += 1
            entry["svg"] = f"{path.stem}-{count}.svg"
            _write(path.with_name(entry["svg"]), part.svg)
        parts.append(entry)
    _write(path, json.dumps(asdict(replace(result, parts=())) | {"parts": parts}, indent=1, ensure_ascii=False))


def load(out: Path, paper: str, item: str, quick: bool) -> Result | None:
    """A result that was saved by this very code; None if there is none, or if it is damaged."""
    path = place(out, paper, item, quick)
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        parts = []
        for part in entry["parts"]:
            kind = part.pop("kind")
            if KINDS[kind] is PaperFigure:
                part["svg"] = path.with_name(part["svg"]).read_text(encoding="utf-8")
            parts.append(KINDS[kind](**part))
        result = Result(**entry | {"parts": tuple(parts)})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # what cannot be read is recomputed
    return result if result.fingerprint == fingerprint() else None


def write_file(path: Path, text: str) -> None:
    """Write a file in one piece, or say why not."""
    try:
        _write(path, text)
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error.strerror}. Choose another folder by --out.") from error


def _write(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
