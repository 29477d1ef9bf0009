"""The papers reproduced: their figures and tables recomputed, beside the papers' own numbers.

>>> from stickslip.papers import PAPERS
>>> sorted(PAPERS["moreau"].items)
['fig2', 'fig4', 'fig5', 'fig7']
"""

from stickslip.papers import generalized_alpha, half_explicit, lobatto, moreau, rattle
from stickslip.papers.paper import Claim, Item, Paper, PaperFigure, Study, Table, Verdict
from stickslip.papers.runner import InterruptedReproduction, Reproduction, reproduce
from stickslip.papers.store import Result

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER for module in (rattle, lobatto, half_explicit, generalized_alpha, moreau)
}

__all__ = [
    "PAPERS",
    "Claim",
    "InterruptedReproduction",
    "Item",
    "Paper",
    "PaperFigure",
    "Reproduction",
    "Result",
    "Study",
    "Table",
    "Verdict",
    "reproduce",
]
