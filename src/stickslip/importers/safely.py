"""Files of others, read with care: no entities, no file outside the model's folder, nothing without a limit."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

from stickslip.errors import ModelError

MOST_BYTES = 20_000_000  # of a model file
MOST_ELEMENTS = 200_000
DEEPEST = 200


def read_model(path: str | Path) -> tuple[Path, str]:
    """The path and the text of a model file."""
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"path = {path!r} must be the path of a model file, such as 'robot.urdf'")
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path} does not exist, or is not a file")
    if path.stat().st_size > MOST_BYTES:
        raise ModelError(f"{path} has {path.stat().st_size / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f} MB")
    try:
        return path, path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not text in UTF-8") from None


def parse(text: str, path: Path) -> ElementTree.Element:
    """The root element; document types and entities, with which XML can be made to explode or to read files, are refused."""
    if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
        raise ModelError(f"{path} declares a document type or entities, which robot files do not need; remove them")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ModelError(f"{path} is not valid XML: {error}") from None
    level, depth, count = [root], 0, 0
    while level:
        depth, count = depth + 1, count + len(level)
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise ModelError(f"{path} has more than {MOST_ELEMENTS} elements, or is nested deeper than {DEEPEST}")
        level = [child for element in level for child in element]
    return root


def inside(folder: Path, name: str) -> Path | None:
    """A file by its name relative to a folder; None where there is none; refused where it lies outside, links followed."""
    if "\0" in name or Path(name).is_absolute() or "\\" in name or ":" in name:
        raise ModelError(f"the model names the file {name!r}; only files inside its own folder are read")
    target = (folder / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ModelError(f"the model names the file {name!r}, which lies outside its folder")
    return target if target.is_file() else None
