"""Writes what differs, and how many claims hold, into docs/reproduce.md, from the results of `stickslip reproduce all`.

python docs/make_reproduce.py [folder of the results]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stickslip.papers import PAPERS
from stickslip.papers.paper import Verdict
from stickslip.papers.report import count_claims

PAGE = Path(__file__).parent / "reproduce.md"
BEGIN, END = "<!-- from a run: docs/make_reproduce.py -->\n", "<!-- end of what is made -->\n"


def section(out: Path) -> str:
    """The table of the claims that differ, of full-size results."""
    verdicts: list[tuple[str, Verdict]] = []
    by = set()
    for paper in PAPERS.values():
        for item in paper.items:
            result = json.loads((out / paper.name / f"{item}-full.json").read_text(encoding="utf-8"))
            by.add(result["fingerprint"])
            for part in result["parts"]:
                if part.pop("kind") == "verdict":
                    verdicts.append((f"{paper.name} {item}", Verdict(**part)))
    lines = [
        f"{count_claims([verdict for _, verdict in verdicts])}, at full size, by "
        f"stickslip {', '.join(sorted(by))}. What differs:\n",
        "| item | claim | expected | found | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for item, v in verdicts:
        if not v.holds:
            mine = " (ours)" if v.ours else ""
            cells = [f"`{item}`", f"{v.text}{mine}", v.expected, v.found, v.note]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Replace the section between the marks."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{section(out)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
