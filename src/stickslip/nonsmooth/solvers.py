"""One door to all solvers of one-step problems: `solve(problem)` starts with the cheap ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stickslip.errors import OptionError, unknown_name
from stickslip.nonsmooth import given
from stickslip.nonsmooth.in_turn import in_turn, jam_of_parts
from stickslip.nonsmooth.jam import jam_of
from stickslip.nonsmooth.magnify import magnified
from stickslip.nonsmooth.measure import Scratch, error_of, scratch
from stickslip.nonsmooth.modes import MOST_MODES, enumerate_modes, mode_count
from stickslip.nonsmooth.newton import CAREFUL, OUTER, newton
from stickslip.nonsmooth.operator import size_of
from stickslip.nonsmooth.path import path_to_solution
from stickslip.nonsmooth.polish import polish
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.proximal import robust
from stickslip.nonsmooth.reduced import islands, without_open
from stickslip.nonsmooth.sweeps import MEMORY, sweeps
from stickslip.nonsmooth.unit_size import of_unit_size
from stickslip.patience import look

SMALLEST_TOL = 1e-13  # relative; rounding of W r + q reaches it
ROUNDS, FEW_ROUNDS = 12, 3  # of ADMM and Newton
FEW, MANY = 60, 20_000  # sweeps of the first rung; where the others have failed
STIFF = CAREFUL._replace(kappa=1e4)  # so large that few proximal steps are needed


@dataclass(frozen=True)
class Rung:
    """One solver that was tried: the residual it reached, its iterations (of its own kind) and seconds."""

    solver: str
    residual: float
    iterations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class OneStepSolution:
    """What `solve` found: velocities and reactions by rows, the residual, the solver that reached it.

    `converged`: whether the residual is below the tolerance. `no_solution`: proved by enumeration that there is none.
    `rungs`: what was tried, in order. `generalized`: the velocities v of a problem with bodies. `jam`: normal forces of
    contacts that jam, where they were looked for (`jam_of`).
    """

    velocity: np.ndarray
    reaction: np.ndarray
    residual: float
    solver: str
    converged: bool
    rungs: tuple[Rung, ...]
    no_solution: bool = False
    generalized: np.ndarray | None = None
    jam: np.ndarray | None = None

    @property
    def iterations(self) -> int:
        """Of all rungs together."""
        return sum(rung.iterations for rung in self.rungs)

    @property
    def seconds(self) -> float:
        """Of all rungs together."""
        return sum(rung.seconds for rung in self.rungs)


SolverFunction = Callable[[Problem, np.ndarray, float], tuple[np.ndarray, int]]


def _sweeps(most: int) -> SolverFunction:
    def run(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
        history, work = np.zeros((2 * MEMORY + 3, r.size)), _scratch(problem)
        _, count = sweeps(problem.operator, problem.laws, problem.scales, r, tol, most, history, work)
        return r, count

    return run


def _few_sweeps(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """As many sweeps as easy problems need, in thirds: a third that does not gain its share of the digits is the last one."""
    history, work, count = np.zeros((2 * MEMORY + 3, r.size)), _scratch(problem), 0
    for wanted in (tol ** (1 / 3), tol ** (2 / 3), tol):
        error, done = sweeps(problem.operator, problem.laws, problem.scales, r, tol, FEW // 3, history, work)
        count += done
        if not error < wanted or error < tol:
            break
    return r, count


def _newton(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    _, count = newton(problem.operator, problem.laws, problem.scales, r, tol, STIFF, OUTER, _scratch(problem))
    r, more = polish(problem, r, tol)
    return r, count + more


def _robust(rounds: int) -> SolverFunction:
    def run(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
        _, factored, steps = robust(problem.operator, problem.laws, problem.scales, r, tol, rounds, _scratch(problem))
        r, more = polish(problem, r, tol)
        return r, factored + steps + more

    return run


def _newton_from_zero(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """As `_robust_from_zero`, at a tenth of its cost."""
    return _newton(problem, np.zeros(r.size), tol) if r.any() else (r, 0)


def _robust_from_zero(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """Multipliers that are nearly right may be on the wrong side of a friction cone, where proximal steps keep them."""
    return _robust(ROUNDS)(problem, np.zeros(r.size), tol) if r.any() else (r, 0)


def _sweeps_from_zero(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """The robust method from where many sweeps lead that know nothing of r: to another solution, if r leads to none."""
    swept, count = _sweeps(MANY)(problem, np.zeros(r.size), tol)
    found, more = _robust(ROUNDS)(problem, swept, tol)
    return found, count + more


def _path(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """Newton's method from the path that leads to solutions."""

    def finish(r: np.ndarray) -> tuple[np.ndarray, float]:
        found = _climb(problem, [("newton", _newton, False)], r, tol)
        return found.reaction, found.residual

    end = path_to_solution(problem.operator, problem.laws, problem.scales, tol, finish)
    return (r if end.reaction is None else end.reaction), end.points


def _many_sweeps(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """Where ADMM ends in a cycle, sweeps go on slowly, and lead to where the others find the rest."""
    ladder: list[tuple[str, SolverFunction, bool]] = [
        ("gauss-seidel", _sweeps(ENOUGH_SWEEPS), True),
        ("robust", _robust(ROUNDS), True),
        ("magnified", magnified, True),
    ]
    counts: list[int] = []

    def further(part: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, bool]:
        found = _climb(part, ladder, r, tol)
        counts.append(found.iterations)
        return found.reaction, found.residual < NEARLY

    less = without_open(problem, r, tol, further)
    if less is None and not counts:
        less = further(problem, r, tol)[0]
    return (r if less is None else less), sum(counts)


def _modes(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """Not a number where it is proved that there is no solution; the start where there may be one."""
    search = enumerate_modes(problem.laws, problem.W.toarray(), problem.q, problem.scales)
    if search.found is not None:
        return search.found, search.tried
    return (np.full(r.size, np.nan) if search.proved else r), search.tried


SOLVERS: dict[str, SolverFunction] = {
    "newton": _newton,
    "gauss-seidel": _sweeps(MANY),
    "robust": _robust(ROUNDS),
    "enumeration": _modes,
}
# `best`: whether a rung starts from the best that was found so far, or from the given start. The robust method finds
# more from there than from a few sweeps that stalled, but from many sweeps it finds what it did not find before.
LADDER: tuple[tuple[str, SolverFunction, bool], ...] = (
    ("gauss-seidel", _few_sweeps, False),
    ("robust", _robust(ROUNDS), False),
    ("magnified", magnified, True),
    ("newton", _newton, True),
    ("path", _path, False),
    ("magnified", magnified, True),
    ("robust", _robust(ROUNDS), True),
    ("gauss-seidel", _sweeps(MANY), True),
    ("robust", _robust(ROUNDS), True),
    ("magnified", magnified, True),
)


FEW_MODES = 300
# With a jam many sweeps are tried only for so few rows: they rarely find a solution that no other rung does.
FEW_ROWS = 100
ENOUGH_SWEEPS = 10_000
ENOUGH = 0.01  # of the residual of the start, for a step of an outer iteration over levels
FALLS = 0.5
# Below this residual of the start levels are solved together if what is found in turn does not fall: redundant contacts have
# many solutions, of which each level takes another one every time. Where it does fall, it is taken: the solution of all levels
# may be far from the present multipliers, and the step to it leads back to large residuals.
LAST_DIGITS = 1e-4
MOST_TOGETHER = 250  # rows for that: with more it takes long where small disagreements are magnified
MOST_LEVELS = 400  # rows: the later rungs take hundreds of dense Newton steps
NEARLY = 1e-5  # residual of a part of a problem that is worth testing on the whole


def _scratch(problem: Problem) -> Scratch:
    return scratch(problem.n_rows, size_of(problem.operator), problem.laws.kind.size)


def solve_shortly(
    problem: Problem, start: np.ndarray, tol: float, levels: bool = False, cold: bool = False
) -> OneStepSolution:
    """The rungs of "auto" that are worth their time inside a run: its problems come here because they are not easy.

    levels: laws of several levels stand side by side, and are solved in turn. Then a residual of ENOUGH times that of the start
    is aimed at, and one of FALLS times will do: the sets of contacts in which laws apply change from step to step of the outer
    iteration, and all levels at once are far more expensive. cold: the levels are solved from zero. Of the forces that friction
    can hold they then take small ones, which couple them less: in a heap of 12 spheres percussions of 0.06 N s, where others
    led on to 0.4.
    """
    ladder: list[tuple[str, SolverFunction, bool]] = [
        ("robust", _robust(ROUNDS), False),
        ("magnified", magnified, True),
        ("proximal newton", _newton_from_zero, False),
        ("path", _path, False),
        ("magnified", magnified, True),
        ("proximal newton", _newton, True),
    ]
    names: list[str] = []

    def climb(part: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, bool]:
        found = _climb(part, ladder, r, tol)
        names.append(found.solver)
        return found.reaction, found.residual < NEARLY

    def one_by_one(part: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, bool]:
        found = islands(part, r, tol, climb)
        if found is None:
            return climb(part, r, tol)
        work = _scratch(part)
        return found, error_of(part.operator, part.laws, part.scales, found, work) < NEARLY

    def alone(part: Problem, r: np.ndarray, tol: float) -> np.ndarray:
        less = without_open(part, r, tol, one_by_one)
        return climb(part, r if less is None else less, tol)[0]

    less = None
    if levels:
        least = error_of(problem.operator, problem.laws, problem.scales, start, _scratch(problem))
        less = in_turn(problem, np.zeros(start.size) if cold else start, max(tol, ENOUGH * least), alone)
    if less is None:
        less = without_open(problem, start, tol, one_by_one)
    if less is None:
        less = islands(problem, start, tol, climb)
    named = [name for name in names if name != "start"]
    if less is not None and named:
        # from there the whole problem is solved, or its rungs go on
        ladder.insert(0, (named[-1], lambda problem, r, tol: (less, 0), False))
        if levels:
            ladder.insert(1, ("robust", _robust(FEW_ROUNDS), True))
            found = _climb(problem, ladder[:2], start, max(tol, ENOUGH * least))
            if least < LAST_DIGITS and found.residual > max(tol, FALLS * least):
                found = _together(problem, found, tol)
            if found.residual < FALLS * least or problem.n_rows > MOST_LEVELS:
                return found
    found = _climb(problem, ladder, start, tol)
    if not found.converged and 0 < mode_count(problem.laws) <= FEW_MODES:
        found = _further(problem, found, ("enumeration", _modes, False), tol)
    elif not found.converged and not levels:
        jam = jam_of(problem) if problem.n_rows > FEW_ROWS else None
        if jam is not None:
            return replace(found, jam=jam)
        found = _further(problem, found, ("many sweeps", _many_sweeps, True), tol)
    return found if found.converged else replace(found, jam=jam_of_parts(problem) if levels else jam_of(problem))


def _further(
    problem: Problem, found: OneStepSolution, rung: tuple[str, SolverFunction, bool], tol: float
) -> OneStepSolution:
    """One more rung, from what others have found."""
    more = _climb(problem, [rung], found.reaction, tol)
    return replace(more, rungs=found.rungs + more.rungs, solver=found.solver if more.solver == "start" else more.solver)


def _together(problem: Problem, found: OneStepSolution, tol: float) -> OneStepSolution:
    """All levels at once, from what was found in turn, without contacts that stay open; only if they are not many."""
    ladder: list[tuple[str, SolverFunction, bool]] = [
        ("robust", _robust(ROUNDS), False),
        ("robust", _robust_from_zero, False),
        ("magnified", magnified, True),
        ("many sweeps", _sweeps_from_zero, False),
    ]

    def at_once(part: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, bool]:
        if part.n_rows > MOST_TOGETHER:
            return r, False
        further = _climb(part, ladder, r, tol)
        names.append(further.solver)
        return further.reaction, further.residual < NEARLY

    names = ["robust"]
    whole = without_open(problem, found.reaction, tol, at_once)
    if whole is None:
        whole = at_once(problem, found.reaction, tol)[0]
    better = _climb(problem, [(names[-1], lambda problem, r, tol: (whole, 0), False)], found.reaction, tol)
    return better if better.residual < found.residual else found


def solve(
    problem: Problem, solver: str = "auto", tol: float = 1e-8, start: np.ndarray | None = None
) -> OneStepSolution:
    """Solve a one-step problem to the relative natural map `tol`, from the multipliers `start` (zero).

    solver: "newton" (semismooth, with a merit function), "gauss-seidel" (with Anderson acceleration), "robust" (ADMM, then
    proximal Newton), "enumeration" (few planar contacts: complete), or "auto", which starts with the cheap ones and also
    magnifies small disagreements of sticking contacts. A problem that is not solved is returned with converged=False, the
    best that was found, and contacts that jam; nothing is hidden. Multipliers that grow without bound are no solution.

    >>> from stickslip.nonsmooth import contacts
    >>> found = solve(contacts([[1.0, 0.0], [0.0, 1.0]], [-2.0, 1.0], mu=[0.3]))      # a ball that hits the floor and slips
    >>> found.reaction.round(6).tolist(), found.velocity.round(6).tolist()
    ([2.0, -0.6], [0.0, 0.4])
    """
    if not isinstance(problem, Problem):
        raise OptionError(
            f"solve needs a Problem, as nonsmooth.contacts, from_bodies and load_fclib make them, got {problem!r}; a System "
            "is solved by stickslip.solve"
        )
    tol = given.tolerance(tol, SMALLEST_TOL)
    if solver != "auto" and solver not in SOLVERS:
        raise OptionError(unknown_name("solver", solver, [*SOLVERS, "auto"]))
    r = np.zeros(problem.n_rows) if start is None else given.vector("start", start)
    if r.shape != (problem.n_rows,):
        raise OptionError(f"start has {r.size} rows, expected {problem.n_rows}")
    modes = mode_count(problem.laws)
    if solver == "enumeration" and not 0 < modes <= MOST_MODES:
        what = (
            "its friction is not planar, or has a cone of its own"
            if modes == 0
            else f"it has {modes} modes, more than {MOST_MODES}"
        )
        raise OptionError(f"enumeration cannot treat this problem: {what}; use solver='robust'")
    ladder = list(LADDER) if solver == "auto" else [(solver, SOLVERS[solver], False)]
    if solver == "auto" and 0 < modes <= MOST_MODES:
        ladder.append(("enumeration", _modes, False))
    unit = of_unit_size(problem)
    found = _climb(unit.problem, ladder, r / unit.reaction, tol)
    if unit.problem is not problem:
        found = replace(
            found,
            velocity=found.velocity * unit.velocity,
            reaction=found.reaction * unit.reaction,
            generalized=None if found.generalized is None else found.generalized * unit.velocity,
        )
    return found if found.converged or found.no_solution else replace(found, jam=jam_of(unit.problem))


def _climb(
    problem: Problem, ladder: list[tuple[str, SolverFunction, bool]], r: np.ndarray, tol: float
) -> OneStepSolution:
    op, laws, scales, work = problem.operator, problem.laws, problem.scales, _scratch(problem)
    rungs: list[Rung] = []
    best, least, name, no_solution = r.copy(), error_of(op, laws, scales, r, work), "start", False
    for solver, method, from_best in ladder:
        if least <= tol:
            break
        look()
        begin = time.perf_counter()
        found, count = method(problem, (best if from_best else r).copy(), tol)
        no_solution = solver == "enumeration" and bool(np.isnan(found).any())
        error = np.inf if no_solution else error_of(op, laws, scales, found, work)
        rungs.append(Rung(solver, error, count, time.perf_counter() - begin))
        if error < least:
            best, least, name = found, error, solver
    residual = error_of(op, laws, scales, best, work)
    generalized = None
    if problem.M is not None and problem.f is not None:
        generalized = problem._solve_mass(problem.f + problem.H @ best)
    velocity = work.u.copy()
    return OneStepSolution(velocity, best, residual, name, residual <= tol, tuple(rungs), no_solution, generalized)
