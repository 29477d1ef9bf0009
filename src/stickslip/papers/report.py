"""The report: one HTML file without anything from the network, for a phone, a wide screen and paper, light and dark."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace  # noqa: F401  (of the doctest)
from html import escape
from importlib.resources import files

from stickslip._version import __version__
from stickslip.papers.paper import Item, Paper, PaperFigure, Table, Verdict
from stickslip.papers.store import Result


def report_text(results: Mapping[str, Sequence[Result]], quick: bool) -> str:
    """The whole page for results by paper.

    >>> "<h1>" in report_text({}, quick=True)
    True
    """
    from stickslip.papers import PAPERS

    papers = {name: PAPERS[name] for name in results}
    css = (files(__package__) / "report.css").read_text(encoding="utf-8")
    verdicts = [verdict for each in results.values() for result in each for verdict in result.verdicts]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>stickslip: the papers reproduced</title>\n<style>\n{css}</style>\n</head>\n<body>",
            '<header class="top">\n<h1>The papers reproduced</h1>',
            f"<p>{_opening(verdicts, quick)}</p>",
            '<div class="summary">',
            *[_summary(papers[name], each) for name, each in results.items()],
            "</div>\n</header>\n<main>",
            *[_paper(papers[name], each) for name, each in results.items()],
            f'</main>\n<footer class="end">{_provenance(results)}</footer>\n</body>\n</html>\n',
        ]
    )


def _opening(verdicts: Sequence[Verdict], quick: bool) -> str:
    size = "Quick runs: coarser and shorter than the papers’." if quick else "Full runs, at the papers’ sizes."
    return (
        f"Figures and tables recomputed by stickslip {escape(__version__)}, beside the papers’ own numbers. "
        f"<b>{count_claims(verdicts)}</b>; where one differs, the text says by how much and why. "
        f'<span class="soft">{size}</span>'
    )


def count_claims(verdicts: Sequence[Verdict]) -> str:
    """How many claims of the papers hold, and how many checks of ours, which no paper makes.

    >>> claim = Verdict("a", "", "", "", "", holds=True)
    >>> count_claims([claim, claim]), count_claims([claim, replace(claim, ours=True)])
    ('2 of 2 claims hold', '1 of 1 claims hold, and 1 of 1 checks of ours')
    """
    theirs, ours = ([v.holds for v in verdicts if v.ours == mine] for mine in (False, True))
    own = f", and {sum(ours)} of {len(ours)} checks of ours" if ours else ""
    return f"{sum(theirs)} of {len(theirs)} claims hold{own}"


def _summary(paper: Paper, results: Sequence[Result]) -> str:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    hold, count = sum(verdict.holds for verdict in verdicts), max(len(verdicts), 1)  # the bar shows all of them
    chips = "".join(
        f'<a class="chip{_mood(result)}" href="#{_anchor(result)}">{escape(_short(paper.items[result.item]))}</a>'
        for result in results
    )
    return (
        f'<div class="paper"><b><a href="#{escape(paper.name)}">{escape(paper.title)}</a></b>'
        f'<div class="bar"><i style="width:{100 * hold / count:.1f}%"></i><i style="width:{100 - 100 * hold / count:.1f}%">'
        f'</i></div><span class="soft">{count_claims(verdicts)}</span><div class="chips">{chips}</div></div>'
    )


def _paper(paper: Paper, results: Sequence[Result]) -> str:
    return "\n".join(
        [
            f'<section class="paper" id="{escape(paper.name)}">\n<h2>{escape(paper.title)}</h2>',
            f'<p class="soft">{escape(paper.reference)}</p>',
            *[_article(paper.items[result.item], result) for result in results],
            "</section>",
        ]
    )


def _article(item: Item, result: Result) -> str:
    drawings = [part for part in result.parts if isinstance(part, PaperFigure)]
    tables = [part for part in result.parts if isinstance(part, Table)]
    verdicts = result.verdicts
    hold = sum(verdict.holds for verdict in verdicts)
    command = f"stickslip reproduce {item.paper} --item {item.id}{' --quick' if result.quick else ''} --fresh"
    lines = [
        f'<article id="{_anchor(result)}">',
        f'<header><h3>{_text(item.title)}</h3><span class="count{_mood(result)}">{hold} of {len(verdicts)} hold</span>',
        f'</header><div class="source">{escape(item.source)}</div>',
        f"<p>{_text(item.text)}</p>",
    ]
    if drawings:
        lines += ['<div class="figures">', *[_figure(drawing) for drawing in drawings], "</div>"]
    lines += [_table(table) for table in tables]
    if verdicts:
        lines += ['<ul class="claims">', *[_claim(verdict) for verdict in verdicts], "</ul>"]
    lines.append(
        f"<footer><span>run time {result.seconds:.3g} s</span><span>again: <code>{escape(command)}</code></span></footer>"
    )
    return "\n".join([*lines, "</article>"])


def _figure(drawing: PaperFigure) -> str:
    text = escape(drawing.caption)
    svg = drawing.svg.replace("<svg", f'<svg role="img" aria-label="{text}"', 1)
    return f"<figure>{svg}<figcaption>{_text(drawing.caption)}</figcaption></figure>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return (
        f'<figure><div class="box" tabindex="0"><table class="data"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        f"</table></div><figcaption>{_text(table.caption)}</figcaption></figure>"
    )


def _claim(verdict: Verdict) -> str:
    mood, mark = ("", "holds") if verdict.holds else (' class="no"', "differs")
    note = f'<p class="note">{_text(verdict.note)}</p>' if verdict.note else ""
    difference = f' <span class="from">({escape(verdict.difference)})</span>' if verdict.difference else ""
    return (
        f'<li{mood}><span class="mark">{mark}</span>'
        f'<div>{_text(verdict.text)} <span class="from">({_text(verdict.source)})</span>{note}</div>'
        f"<dl><dt>expected</dt><dd>{_text(verdict.expected)}</dd><dt>found</dt><dd>{_text(verdict.found)}{difference}</dd>"
        "</dl></li>"
    )


def _provenance(results: Mapping[str, Sequence[Result]]) -> str:
    seconds = sum(result.seconds for each in results.values() for result in each)
    codes = sorted({result.fingerprint for each in results.values() for result in each})
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    machine = (
        f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}, Python {platform.python_version()}"
    )
    return escape(f"Written {date} by stickslip {', '.join(codes)} on {machine}; the runs took {seconds:.0f} s in sum.")


def _text(text: str) -> str:
    """A text as HTML, with indices as such.

    >>> _text("P_N < e_N")
    'P<sub>N</sub> &lt; e<sub>N</sub>'
    """
    return re.sub(r"(?<=[^\W\d_])_([A-Za-z0-9]{1,3})\b", r"<sub>\1</sub>", escape(text))


def _anchor(result: Result) -> str:
    return f"{result.paper}-{result.item}"


def _mood(result: Result) -> str:
    return "" if all(verdict.holds for verdict in result.verdicts) else " no"


def _short(item: Item) -> str:
    """The place in the paper without details.

    >>> from stickslip.papers import PAPERS
    >>> _short(PAPERS["rattle"].items["fig8"])
    'Fig. 8'
    """
    return item.source.split(",")[0]
