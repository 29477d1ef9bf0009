"""What a paper is here: items (its figures and tables), the claims that each makes, and what a run of an item gives.

The papers' numbers and statements live as data in `data/*.toml`, each with its source; the functions that compute an item
live in one module a paper. A function yields parts, in the order in which a reader wants them: drawings, tables, verdicts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np

SIZES = {True: "quick", False: "full"}


@dataclass(frozen=True)
class PaperFigure:
    """A figure as SVG text, with what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of texts under a heading each."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Verdict:
    """A claim beside what was found: it holds, or it differs, by how much and why."""

    claim: str
    text: str
    source: str
    expected: str
    found: str
    holds: bool
    difference: str = ""
    note: str = ""
    ours: bool = False  # not said by the paper: an exact solution, statics, another program


Exhibit: TypeAlias = PaperFigure | Table | Verdict


@dataclass(frozen=True)
class Claim:
    """A statement that can hold or not. What holds is said by one of the rules, or by the code (a truth value).

    within: largest distance to `expected`; factor: largest ratio to it, either way; at_most, at_least, between: bounds.
    note: said in any case; why: said if the claim differs; both may name facts that the code found, as in {rest:.2f}.

    >>> claim = Claim("zeno", "The ball comes to rest", "section 5.1", expected=1.285059, within=0.02, unit="s")
    >>> verdict = claim.judge(1.29)
    >>> verdict.holds, verdict.expected, verdict.found, verdict.difference
    (True, '1.28506 ± 0.02 s', '1.29 s', '+0.00494 s')
    >>> Claim("factor", "Same size", "Table 3", expected=0.018, factor=2).judge(0.05).holds
    False
    """

    id: str
    text: str
    source: str
    expected: float | str | None = None
    unit: str = ""
    within: float | None = None
    factor: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    between: tuple[float, float] | None = None
    full_only: bool = False
    note: str = ""
    why: str = ""

    def judge(self, found: float | bool, *, shown: str = "", **facts: Any) -> Verdict:
        """The verdict about what was found. shown: its text, if not the number; facts: for the note and the why."""
        found = found.item() if isinstance(found, np.generic) else found
        holds, difference = self._compare(found)
        digits = (
            ".6g" if isinstance(self.expected, float | int) and self.at_most is None else ".3g"
        )  # against a bound: few
        text = shown or (("yes" if found else "no") if isinstance(found, bool) else self._in_unit(f"{found:{digits}}"))
        notes = " ".join(part.format(**facts) for part in (self.note, "" if holds else self.why) if part)
        return Verdict(self.id, self.text, self.source, self.rule, text, holds, difference, notes, self.ours)

    @property
    def ours(self) -> bool:
        """Whether the source names no place in the paper.

        >>> Claim("rest", "It rests", "exact solution").ours, Claim("rest", "It rests", "section 5.1; bound ours").ours
        (True, False)
        """
        return re.search(r"section|Fig|Table|\(\d", self.source) is None

    @property
    def rule(self) -> str:
        """What is expected, as a text."""
        if self.between is not None:
            return self._in_unit(f"{self.between[0]:.6g} … {self.between[1]:.6g}")
        if self.at_most is not None:
            return self._in_unit(f"≤ {self.at_most:.6g}")
        if self.at_least is not None:
            return self._in_unit(f"≥ {self.at_least:.6g}")
        if not isinstance(self.expected, float | int):
            return self.expected or "yes"
        value = f"{self.expected:.6g}"
        if self.factor is not None:
            return self._in_unit(f"{value} (factor {self.factor:g})")
        return self._in_unit(f"{value} ± {self.within:.3g}" if self.within is not None else value)

    def _compare(self, found: float | bool) -> tuple[bool, str]:
        if isinstance(found, bool):
            return found, ""
        if self.between is not None:
            return self.between[0] <= found <= self.between[1], ""
        if self.at_most is not None:
            return found <= self.at_most, ""
        if self.at_least is not None:
            return found >= self.at_least, ""
        if not isinstance(self.expected, float | int):
            raise ValueError(f"claim {self.id!r} has no number to compare {found} with")
        if self.factor is not None:
            return 1 / self.factor <= found / self.expected <= self.factor, f"× {found / self.expected:.3g}"
        if self.within is None:
            raise ValueError(f"claim {self.id!r} does not say how far from {self.expected} it may be")
        return abs(found - self.expected) <= self.within, self._in_unit(f"{found - self.expected:+.3g}")

    def _in_unit(self, text: str) -> str:
        return f"{text} {self.unit}" if self.unit else text


@dataclass(frozen=True)
class Study:
    """What the function of an item is given: the size of the run, the paper's numbers, and a judge of its claims."""

    quick: bool
    data: Mapping[str, Any]
    claims: Mapping[str, Claim]

    def judge(self, claim: str, found: float | bool, *, shown: str = "", **facts: Any) -> Verdict:
        """The verdict about one of the item's claims, as `Claim.judge`."""
        return self.claims[claim].judge(found, shown=shown, **facts)


Function: TypeAlias = Callable[[Study], Iterator[Exhibit]]


@dataclass(frozen=True, eq=False)
class Item:
    """A figure, table or statement of a paper, and the function that computes it."""

    paper: str
    id: str
    title: str
    source: str
    text: str
    claims: Mapping[str, Claim]
    data: Mapping[str, Any]
    function: Function

    def run(self, quick: bool) -> list[Exhibit]:
        """Compute it. Every claim of the item is judged once; a quick run leaves out those that need the full one."""
        parts = list(self.function(Study(quick, self.data, self.claims)))
        judged = [part.claim for part in parts if isinstance(part, Verdict)]
        wanted = [claim.id for claim in self.claims.values() if not (quick and claim.full_only)]
        if sorted(judged) != sorted(wanted):
            raise ValueError(f"{self.paper} {self.id} judged {sorted(judged)}, its claims are {sorted(wanted)}")
        return parts


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper: its reference and its items, in their order there.

    >>> from stickslip.papers import PAPERS
    >>> PAPERS["rattle"].items["fig8"].source
    'Fig. 8, section 5.3, (56)'
    """

    name: str
    functions: dict[str, Function] = field(default_factory=dict)

    def item(self, function: Function) -> Function:
        """Decorator: this function computes the item of the same name."""
        self.functions[function.__name__] = function
        return function

    @cached_property
    def data(self) -> dict[str, Any]:
        """The contents of its data file."""
        name = self.name.replace("-", "_")
        return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text(encoding="utf-8"))

    @property
    def title(self) -> str:
        """Its title."""
        return self.data["title"]

    @property
    def reference(self) -> str:
        """Authors, year and place."""
        return self.data["reference"]

    @cached_property
    def items(self) -> dict[str, Item]:
        """Its items by their names."""
        return {name: self._item(name, entry) for name, entry in self.data["items"].items()}

    def _item(self, name: str, entry: Mapping[str, Any]) -> Item:
        claims = {key: Claim(id=key, **_tuples(claim)) for key, claim in entry.get("claims", {}).items()}
        heading = {key: entry[key] for key in ("title", "source", "text")}
        return Item(self.name, name, **heading, claims=claims, data=entry, function=self.functions[name])


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
