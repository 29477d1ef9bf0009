"""Outer iterations over linearised stages: how exactly one is solved, how far it looks, and what of its step is taken."""

from __future__ import annotations

from stickslip.engine.tables import Tables
from stickslip.engine.work import Options, Work

INEXACT = 1e-4  # of the residual of the stage: how well its linearised problem is solved
EXACT, ROUGH = 1e-12, 1e-6  # relative residuals of a linearised problem: where rounding ends, and what is worth a step
REACH = 4.0  # of the residual of the stage, as a gap: contacts that are farther away are left out at first
SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
GAIN = 0.1  # of what a share of a step would gain if the residual were linear


def accuracy(smallest: float, error: float, options: Options) -> float:
    """How well rows are solved where the residual is `error`; `smallest` is the smallest of their sizes."""
    return smallest * max(0.1 * options.tolerance, INEXACT * error)


def relative(accuracy: float, scale: float) -> float:
    """The same as the relative residual that a solver of `nonsmooth` is asked for."""
    return min(max(accuracy / scale, EXACT), ROUGH)


def largest_size(tables: Tables, k: int, work: Work) -> float:
    """The largest size of a row of a stage: a residual times that is a gap or a velocity."""
    n, order = int(tables.problems[k]["n"]), int(tables.problems[k]["order"])
    return float(work.sizes[order : order + n].max(initial=0.0)) or 1.0


def gains(error: float, share: float, before: float) -> bool:
    """Whether a share of a step leads on. Short ones that gain next to nothing end an iteration that whole ones continue."""
    return error < (1.0 - GAIN * share) * before
