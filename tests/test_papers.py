"""The papers reproduced: quick runs of every item with their verdicts, the store, the report, errors and interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.papers import PAPERS, Claim, Paper, PaperFigure, Result, Table, runner, store
from stickslip.papers.report import report_text

ITEMS = [(paper.name, item) for paper in PAPERS.values() for item in paper.items]
# What differs from the papers, also at full size; the report says why.
DIFFERS = {
    "rattle fig8": {"u_4"},
    "lobatto fig3": {"indistinguishable"},
    "half-explicit fig25": {"impulsive"},
    "generalized-alpha fig10": {"iterations", "faster"},
    "moreau fig4": {"theta_dissipates"},
    "moreau fig5": {"ten_times", "in_between", "variational_order", "theta_order"},
}
TIMES = {"cost", "total", "seconds"}  # of this machine, under whatever load


# -- the papers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper, item", [pytest.param(*each, id=" ".join(each)) for each in ITEMS])
def test_claims_hold(paper, item):
    result = runner.compute(paper, item, quick=True)
    failed = [
        f"{v.claim}: expected {v.expected}, found {v.found} ({v.difference})"
        for v in result.verdicts
        if not v.holds and v.claim not in TIMES | DIFFERS.get(f"{paper} {item}", set())
    ]
    assert not failed
    assert result.verdicts
    assert any(isinstance(part, PaperFigure | Table) for part in result.parts)
    for verdict in result.verdicts:
        assert verdict.holds or verdict.note or verdict.difference, (
            f"{verdict.claim} differs and nobody says by how much"
        )


def test_what_differs_is_explained():
    """Every claim that is known to differ is one, and says why in words."""
    for name, claims in DIFFERS.items():
        paper, item = name.split(" ")
        assert claims <= set(PAPERS[paper].items[item].claims)


def test_five_papers_with_their_data():
    assert list(PAPERS) == ["rattle", "lobatto", "half-explicit", "generalized-alpha", "moreau"]
    for paper in PAPERS.values():
        assert paper.title
        assert paper.reference
        assert set(paper.functions) == set(paper.items)
        for item in paper.items.values():
            assert re.match(r"(Figs?\.|Table) \d", item.source)
            assert item.claims
            for claim in item.claims.values():
                assert claim.source
                assert claim.text


# -- claims ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule, holds, fails, difference",
    [
        ({"expected": 2.0, "within": 0.15}, 2.1, 1.8, "-0.2"),
        ({"expected": 2.0, "factor": 2}, 3.9, 0.9, "× 0.45"),
        ({"at_most": 1.0}, 1.0, 1.1, ""),
        ({"at_least": 1.0}, 1.0, np.float64(0.9), ""),
        ({"between": (1.0, 2.0)}, 1.5, float("nan"), ""),
        ({}, True, np.False_, ""),
    ],
)
def test_rules_of_claims(rule, holds, fails, difference):
    claim = Claim("it", "It holds", "here", **rule, note="At {t:g} s.", why="Because of {t:.2f}.")
    assert claim.judge(holds, t=2).holds is True
    assert claim.judge(holds, t=2).note == "At 2 s."
    verdict = claim.judge(fails, t=2)
    assert verdict.holds is False
    assert (verdict.difference, verdict.note) == (difference, "At 2 s. Because of 2.00.")


@pytest.mark.parametrize("rule", [{}, {"expected": 2.0}, {"expected": "second order"}])
def test_a_number_needs_a_rule(rule):
    with pytest.raises(ValueError, match="claim 'it'"):
        Claim("it", "It holds", "here", **rule).judge(2.0)


def test_no_claim_is_passed_over():
    item = PAPERS["moreau"].items["fig2"]

    def lazy(study):
        yield study.judge("penetration", 0.0)

    with pytest.raises(ValueError, match=r"judged \['penetration'\], its claims are"):
        replace(item, function=lazy).run(quick=True)


# -- through the command line ------------------------------------------------------------------------------------------


def stickslip(*arguments: str, cwd: Path, **options) -> subprocess.Popen:
    path = os.pathsep.join([str(Path(ss.__path__[0]).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "stickslip.cli", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=cwd, env={**os.environ, "PYTHONPATH": path}, **pipes, **options)


class Page(HTMLParser):
    """What a browser would fetch, and where links lead."""

    VOID = ("meta", "path", "use", "br", "line", "rect")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.fetched += [values[name] for name in ("src", "srcset", "data") if name in values]
        self.fetched += [tag] if tag in ("link", "script", "iframe", "object") else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.usefixtures("ctrl_c")
def test_a_paper_end_to_end(tmp_path):
    """Ctrl-C keeps what is done, and the same command continues: two processes, one report that needs nothing else.

    A third call finds everything done.
    """
    command, there = (
        ("reproduce", "lobatto", "--quick", "--out", "there", "--jobs", "2"),
        tmp_path / "there" / "lobatto",
    )
    items = PAPERS["lobatto"].items
    kept = {}
    if sys.platform != "win32":  # where nobody can send SIGINT
        process = stickslip(*command, cwd=tmp_path, start_new_session=True)
        deadline = time.monotonic() + 200
        while not list(there.glob("*.json")) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        told = rf"interrupted: \d of {len(items)} items are done and kept in there; the same command continues there"
        assert re.search(told, err)
        assert "Traceback" not in err
        kept = {path: path.stat().st_mtime_ns for path in there.glob("*.json")}
        assert 0 < len(kept) < len(items)
        assert not list(tmp_path.rglob("*.unfinished"))
        assert (tmp_path / "there" / "report.html").exists()

    process = stickslip(*command, cwd=tmp_path)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert len(list(there.glob("*.json"))) == len(items)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    held, claims = map(int, re.search(r"\n(\d+) of (\d+) claims hold", out).groups())
    assert claims - held == sum(len(claims) for item, claims in DIFFERS.items() if item.startswith("lobatto"))
    text = (tmp_path / "there" / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert page.fetched == []
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    for item in items.values():
        assert f"lobatto-{item.id}" in page.ids
        assert f"stickslip reproduce lobatto --item {item.id} --quick" in text
    assert all(link[1:] in page.ids for link in page.links)
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    kept = {path: path.stat().st_mtime_ns for path in there.iterdir()}
    assert len([path for path in kept if path.suffix == ".svg"]) > 5
    again = stickslip(*command, cwd=tmp_path)
    again.communicate(timeout=300)
    assert again.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in there.iterdir()} == kept


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["ratle"], "unknown paper 'ratle'; did you mean 'rattle'?"),
        (["rattle", "--item", "fig88"], "unknown item of 'rattle' 'fig88'; did you mean 'fig8'?"),
        (["all", "--item", "fig8"], "items belong to one paper"),
        (["rattle", "--jobs", "0"], "jobs = 0 must be at least 1"),
        (["rattle", "--out", "file"], "--out file"),
        (["rattle", "--out", "file/below"], "--out file/below"),
    ],
)
def test_wrong_input_is_named(stick, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    result = stick("reproduce", *arguments)
    assert result.code == 1
    assert result.err.startswith("error: ")
    assert message in result.err
    assert "Traceback" not in result.err


# -- store and runner, with items that cost nothing --------------------------------------------------------------------


@pytest.fixture
def toy(monkeypatch):
    """A paper of three items that count how often they run; what they do can be changed."""
    paper = Paper("toy")
    paper.__dict__["data"] = {
        "title": "A toy",
        "reference": "nobody, never",
        "items": {
            f"fig{k}": {
                "title": f"Figure {k}",
                "source": f"Fig. {k}",
                "text": "A text with P_N < 1.",
                "claims": {"small": {"text": "It is small", "source": "section 1", "at_most": 1.0, "why": "it grew"}},
            }
            for k in (1, 2, 3)
        },
    }
    counts = dict.fromkeys(paper.data["items"], 0)
    acts = {}

    def make(name):
        def function(study):
            counts[name] += 1
            if name in acts:
                raise acts[name]
            yield PaperFigure('<svg viewBox="0 0 1 1"></svg>', "nothing")
            yield Table("numbers", ["a", "b"], [["1", "2"]])
            yield study.judge("small", 0.5 if name != "fig2" else 2.0)

        function.__name__ = name
        return function

    for name in counts:
        paper.item(make(name))
    monkeypatch.setitem(PAPERS, "toy", paper)
    paper.__dict__["counts"], paper.__dict__["acts"] = counts, acts
    return paper


def toy_run(out, **options):
    return ss.papers.reproduce("toy", quick=True, out=out, jobs=1, **options)


def test_results_are_kept(toy, tmp_path):
    first, second = toy_run(tmp_path), toy_run(tmp_path)
    assert toy.counts == {"fig1": 1, "fig2": 1, "fig3": 1}
    assert second.results == first.results
    assert [verdict.holds for verdict in first.verdicts] == [True, False, True]
    toy_run(tmp_path, items=["fig2"], fresh=True)
    assert toy.counts == {"fig1": 1, "fig2": 2, "fig3": 1}
    assert toy_run(tmp_path, items=["fig3", "fig1"]).results == (first.results[2], first.results[0])


def test_sizes_are_kept_apart(toy, tmp_path):
    toy_run(tmp_path)
    ss.papers.reproduce("toy", out=tmp_path, jobs=1, items=["fig1"])
    assert toy.counts == {"fig1": 2, "fig2": 1, "fig3": 1}
    assert (tmp_path / "toy" / "fig1-full.json").exists()


@pytest.mark.parametrize("damage", ["truncated", "no drawing", "other code", "no JSON"])
def test_damaged_and_outdated_results_are_computed_again(toy, tmp_path, damage):
    toy_run(tmp_path)
    path = tmp_path / "toy" / "fig1-quick.json"
    if damage == "truncated":
        path.write_text(path.read_text()[:-20])
    elif damage == "no drawing":
        (tmp_path / "toy" / "fig1-quick-1.svg").unlink()
    elif damage == "other code":
        path.write_text(json.dumps(json.loads(path.read_text()) | {"fingerprint": "0.0.0+0"}))
    else:
        path.write_text("null")
    assert store.load(tmp_path, "toy", "fig1", quick=True) is None
    toy_run(tmp_path)
    assert toy.counts == {"fig1": 2, "fig2": 1, "fig3": 1}


def test_an_item_that_fails_does_not_stop_the_others(toy, tmp_path):
    toy.acts["fig1"] = ss.MethodError("cannot do that")
    toy.acts["fig2"] = ZeroDivisionError("oh")
    message = r"2 of 3 items could not be computed\.\ntoy fig1: cannot do that\ntoy fig2: ZeroDivisionError: oh \(test_"
    with pytest.raises(ss.StickslipError, match=message):
        toy_run(tmp_path)
    assert "Figure 3" in (tmp_path / "report.html").read_text()
    toy.acts.clear()
    assert len(toy_run(tmp_path).results) == 3
    assert toy.counts == {"fig1": 2, "fig2": 2, "fig3": 1}


def test_an_interruption_says_how_to_continue(toy, tmp_path):
    toy.acts["fig2"] = KeyboardInterrupt()
    with pytest.raises(ss.papers.InterruptedReproduction, match=r"1 of 3 items are done and kept in .*continues there"):
        toy_run(tmp_path)
    assert "Figure 1" in (tmp_path / "report.html").read_text()
    toy.acts.clear()
    toy_run(tmp_path)
    assert toy.counts == {"fig1": 1, "fig2": 2, "fig3": 1}


def test_report_says_what_holds_and_what_differs(toy, tmp_path):
    text = toy_run(tmp_path).report.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert "<b>2 of 3 claims hold</b>" in text
    assert "it grew" in text
    assert "P<sub>N</sub> &lt; 1." in text
    assert {"toy-fig1", "toy-fig2", "toy-fig3", "toy"} <= set(page.ids)
    assert report_text({}, quick=False).count("<article") == 0


def test_texts_are_escaped(toy, tmp_path):
    result = Result("toy", "fig1", True, (Table("<i>", ["<b>"], [["<script>"]]),), 1.0, "", "")
    text = report_text({"toy": [result]}, quick=True)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
