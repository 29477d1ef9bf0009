"""Writes docs/reference.md: every public name, what it is, and the pages that show it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import stickslip as ss

HERE = Path(__file__).parent
PAGE = HERE / "reference.md"
MARK = "<!-- made by `python docs/make_reference.py`; a test compares it with the package -->\n"
SHOWN = 3  # pages per name

# Sections in the order of the page. A name belongs to the first one whose prefix its module begins with.
SECTIONS = {
    "Systems and bodies": (
        "model.system",
        "model.bodies",
        "model.frames",
        "model.matter",
        "model.inertia",
        "model.flexible",
    ),
    "Joints and drives": ("model.joints", "model.drives", "model.clearance", "model.measures"),
    "Forces": ("model.forces",),
    "Shapes and contacts": ("model.contacts", "model.collisions", "model."),
    "Contact laws": ("model.laws", "cone"),
    "Inputs and imports": ("interpolation", "importers", "math"),
    "Running": ("solve", "engine.state"),
    "Schemes": ("schemes",),
    "Results": ("solution", "shapes"),
    "Analysis": ("analysis",),
    "Studies": ("studies",),
    "Ready-made": ("benchmarks", "papers", "nonsmooth"),
    "Errors and warnings": ("errors",),
}
CONSTANTS = {
    "METHODS": ("schemes", "The schemes by their names."),
    "NORMS": ("analysis", "The norms that `convergence` takes, by their names."),
}


def section_of(module: str) -> str:
    """The section with the longest prefix that fits."""
    fits = [(len(p), title) for title, prefixes in SECTIONS.items() for p in prefixes if module.startswith(p)]
    if not fits:
        raise ValueError(f"docs/make_reference.py has no section for the module {module!r}")
    return max(fits)[1]


def described(name: str) -> tuple[str, str]:
    """Section and first sentence of a public name."""
    thing = getattr(ss, name)
    if name in CONSTANTS:
        module, text = CONSTANTS[name]
        return section_of(module), text
    where = thing.__name__ if inspect.ismodule(thing) else getattr(thing, "__module__", type(thing).__module__)
    summary = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return section_of(where.removeprefix("stickslip.")), summary.replace("|", r"\|")


def pages() -> dict[str, tuple[str, str]]:
    """Code and title of every page with examples, by its path below docs."""
    found = {}
    for path in sorted(HERE.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        code = "".join(re.findall(r"```py(?:thon)?\n(.*?)```", text, flags=re.DOTALL))
        if path != PAGE:
            found[str(path.relative_to(HERE))] = (
                code,
                text.partition("\n")[0].lstrip("# ").split(":")[0].replace("`", ""),
            )
    return found


def table() -> str:
    """One table per section."""
    shown = pages()
    rows: dict[str, list[str]] = {title: [] for title in SECTIONS}
    for name in sorted(set(ss.__all__) - {"__version__"}, key=lambda name: (name.lower(), name)):
        title, summary = described(name)
        uses = {p: len(re.findall(rf"\bss\.{name}\b", code)) for p, (code, _) in shown.items()}
        best = sorted((p for p, n in uses.items() if n), key=lambda p: -uses[p])[:SHOWN]
        links = ", ".join(f"[{shown[p][1]}]({p})" for p in best)
        rows[title].append(f"| `{name}` | {summary} | {links} |")
    out = [
        f"## {title}\n\n| name | what it is | shown in |\n| --- | --- | --- |\n" + "\n".join(rows[title])
        for title in SECTIONS
    ]
    return "\n\n".join(out) + "\n"


def page() -> str:
    """The whole page, with its tables made anew."""
    head, _ = PAGE.read_text(encoding="utf-8").split(MARK)
    return f"{head}{MARK}\n{table()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
