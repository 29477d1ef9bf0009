"""What is done of many runs, in a file that is only appended to: a killed sweep continues where it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from stickslip.errors import OptionError, ResultFileError
from stickslip.stream import alone

Measured = tuple[dict[str, np.ndarray] | None, str | None]  # of a run: what was measured, or why there is nothing


class Journal:
    """One line per run that is done, in JSON; a line that is not whole is ignored."""

    def __init__(self, path: Path, identity: str, count: int = 2**62):
        self.done: dict[int, Measured] = {}
        end = 0
        try:
            if path.exists():
                end = self._read(path, identity, count)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if end else "ab", buffering=0)
            alone(self._file)
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                self._file.write(json.dumps({"sweep": identity}).encode() + b"\n")
        except OSError as error:
            raise ResultFileError(f"cannot write {path}: {error.strerror}. Choose another journal=.") from error

    def _read(self, path: Path, identity: str, count: int) -> int:
        end = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            try:
                entry = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                entry = None
            if entry is None:
                break
            if number == 0 and (not isinstance(entry, dict) or entry.get("sweep") != identity):
                raise OptionError(f"{path} is the journal of another sweep; choose another file, or delete it")
            if number:
                try:
                    values, point, error = entry["values"], entry["point"], entry["error"]
                    arrays = None if values is None else {n: np.array(v, dtype=float) for n, v in values.items()}
                    if type(point) is not int or not 0 <= point < count or not isinstance(error, str | None):
                        raise ValueError
                except (AttributeError, KeyError, TypeError, ValueError):
                    raise ResultFileError(f"{path} is damaged in line {number + 1}; delete it to begin again") from None
                self.done[point] = arrays, error
            end += len(line)
        return end

    def append(self, point: int, outcome: Measured) -> None:
        """Keep the outcome of a run; numbers come back bit for bit."""
        values, error = outcome
        lists = None if values is None else {name: array.tolist() for name, array in values.items()}
        try:
            self._file.write(json.dumps({"point": point, "values": lists, "error": error}).encode() + b"\n")
        except OSError as failure:
            raise ResultFileError(
                f"cannot write {self._file.name}: {failure.strerror}. Free some space and call the same sweep again; what "
                "is in the journal is not repeated"
            ) from failure

    def close(self) -> None:
        """Close the file."""
        self._file.close()
