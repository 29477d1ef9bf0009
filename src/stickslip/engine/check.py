"""What must hold before the first step; every complaint names the thing, the numbers and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stickslip.cone import check_projection
from stickslip.engine.expressions import T
from stickslip.engine.numbering import MULTIPLIERS, Numbering
from stickslip.engine.stage import once
from stickslip.engine.watch import law_function
from stickslip.errors import InitialStateError, ModelError
from stickslip.model.bodies import turning
from stickslip.model.declaration import check_law_value
from stickslip.model.system import System

LAWS = ("mu", "radius", "e_N", "e_F", "coefficients")  # functions whose values `check_laws` looks at
LARGEST = np.finfo(float).max
MASS_RATIO = 1e-30  # below it, the lighter one drops out of the linear systems and would not move
UNEVEN = 1e7  # masses that differ by more: a stack of three boxes, the top one heavier by 1e8, fails in most schemes
QUATERNIONS = "quaternions"  # what a model keeps: where they lie
CONTINUE = "to continue from a solution whose scheme drifts, pass initial_tol="


def check_mass(numbering: Numbering, t: float, q: np.ndarray, parameters: np.ndarray) -> None:
    """The mass matrix is symmetric and positive definite; one group of coupled blocks after the other, for it can be large."""
    system = numbering.model.system
    massive = [kind for kind in numbering.part_kinds if kind.type.has_mass]
    first, n_u = system.starts["u"], numbering.size["u"]
    home, place = np.empty(n_u, np.int64), np.empty(n_u, np.int64)  # of a velocity: its group, and its row there
    groups = []
    for k, blocks in enumerate(coupled(len(system.blocks), [kind.blocks for kind in massive])):
        rows = np.concatenate([np.arange(first[b], first[b + 1]) for b in blocks])
        home[rows], place[rows] = k, np.arange(rows.size)
        groups.append((np.zeros((rows.size, rows.size)), rows))
    for kind in massive:
        for rows, M in zip(numbering.rows(kind, "u"), numbering.evaluate(kind, "M", t, q, parameters), strict=True):
            groups[home[rows[0]]][0][np.ix_(place[rows], place[rows])] += M
    diagonal = np.zeros(n_u)
    for M, rows in groups:
        _check_mass(system, M, rows)
        diagonal[rows] = np.diag(M)
    if n_u and diagonal.min() < MASS_RATIO * diagonal.max():
        light, heavy = (system.u_names[int(k)] for k in (diagonal.argmin(), diagonal.argmax()))
        raise ModelError(
            f"{system.name}: the mass of {light!r}, {diagonal.min():.3g}, is beyond all comparison with {diagonal.max():.3g} "
            f"of {heavy!r}; a ratio of 1e30 is the most"
        )


def uneven_masses(numbering: Numbering, t: float, q: np.ndarray, parameters: np.ndarray) -> str:
    """The two bodies whose masses differ most, if rounding errors of forces on the heavy one may move the light one, or ''.

    Joints or contacts must lead from one to the other.
    """
    system, diagonal = numbering.model.system, masses_of_velocities(numbering, t, q, parameters)
    first, masses = system.starts["u"].tolist(), {}
    for k, block in enumerate(system.blocks):
        own = [diagonal[first[k] + i] for i, unit in enumerate(block.u_units) if unit == "m/s"]
        if own:
            masses[k] = max(own)
    joining = [kind.blocks for kind in numbering.part_kinds if any(kind.type.n[space] for space in MULTIPLIERS)]
    if any(kind.detected for kind in numbering.kinds):
        joining.append(np.arange(len(system.blocks))[None])
    pairs = []
    for group in coupled(len(system.blocks), joining):
        if known := [k for k in group if k in masses]:
            light, heavy = min(known, key=masses.__getitem__), max(known, key=masses.__getitem__)
            pairs.append((masses[heavy] / masses[light], heavy, light))
    ratio, heavy, light = max(pairs, default=(0.0, 0, 0))
    if ratio < UNEVEN:
        return ""
    return f"the mass of {system.blocks[heavy].name!r} is {ratio:.1g} times that of {system.blocks[light].name!r}"


def masses_of_velocities(numbering: Numbering, t: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """The diagonal of the mass matrix."""
    out = np.zeros(numbering.size["u"])
    for kind in numbering.part_kinds:
        if kind.type.has_mass:
            M = numbering.evaluate(kind, "M", t, q, parameters)
            np.add.at(out, numbering.rows(kind, "u"), np.diagonal(M, axis1=1, axis2=2))
    return out


def coupled(n_blocks: int, joined: Sequence[np.ndarray]) -> list[list[int]]:
    """Blocks of coordinates in groups: those that stand in one row of `joined` are coupled."""
    group = list(range(n_blocks))

    def find(b: int) -> int:
        while group[b] != b:
            group[b] = b = group[group[b]]
        return b

    for table in joined:
        for first, *others in table.tolist():
            for other in others:
                group[find(other)] = find(first)
    out: dict[int, list[int]] = {}
    for b in range(n_blocks):
        out.setdefault(find(b), []).append(b)
    return list(out.values())


def _check_mass(system: System, M: np.ndarray, rows: np.ndarray) -> None:
    name = system.name
    if not np.isfinite(M).all():
        raise ModelError(f"{name}: the mass matrix is not finite at the initial state")
    scale = np.abs(M).max(initial=0.0)
    if not np.allclose(M, M.T, rtol=0, atol=1e-12 * scale):
        i, j = np.unravel_index(np.abs(M - M.T).argmax(), M.shape)
        raise ModelError(
            f"{name}: the mass matrix is not symmetric, M[{i},{j}] = {M[i, j]:g} but M[{j},{i}] = {M[j, i]:g}"
        )
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(M)
        worst = system.u_names[int(rows[np.abs(vectors[:, 0]).argmax()])]
        raise ModelError(
            f"{name}: the mass matrix is not positive definite at the initial state: eigenvalue {values[0]:g} in the "
            f"direction of {worst!r}; every velocity needs a mass or inertia > 0"
        ) from None


def highest_frequency(numbering: Numbering, t: float, q: np.ndarray, parameters: np.ndarray) -> float:
    """The highest angular frequency of small oscillations about a state, as if all joints were open.

    Joints can only lower it. It is zero for large systems, whose eigenvalues take longer than many runs.
    """
    if not 0 < numbering.size["u"] <= 400:
        return 0.0
    K = numbering.matrix("stiffness", t, q, parameters)
    if not np.isfinite(K).all() or not K.any():
        return 0.0
    L = np.linalg.cholesky(numbering.matrix("M", t, q, parameters))
    half = np.linalg.solve(L, K)
    scaled = np.linalg.solve(L, half.T)
    return float(np.sqrt(max(0.0, np.linalg.eigvalsh((scaled + scaled.T) / 2)[-1])))


def laws_hold(symbol: str, values: np.ndarray) -> bool:
    """Whether these values of a law are in its range."""
    return bool((values >= 0.0).all() and (values <= (1.0 if symbol in ("e_N", "e_F") else LARGEST)).all())


def check_laws(
    numbering: Numbering, t: float, q: np.ndarray, parameters: np.ndarray, laws: Sequence[str] = LAWS
) -> None:
    """Friction and restitution are in range for the values of the parameters; `laws`: some of them only."""
    model = numbering.model
    keys = {"mu": "friction", "radius": "radius", "e_N": "restitution", "e_F": "tangential_restitution"}
    keys = {symbol: key for symbol, key in keys.items() if symbol in laws}
    for kind in numbering.part_kinds:
        if not (kind.type.n["N"] or kind.type.n["F"]):
            continue
        for symbol, key in keys.items():
            values = numbering.evaluate(kind, symbol, t, q, parameters)
            if laws_hold(symbol, values):
                continue
            for member, row in zip(kind.members, values, strict=True):
                for k, value in enumerate(row.flat):
                    where = f"{model.system.name}: contact {name_of_law(numbering, int(member), symbol, k)!r}"
                    check_law_value(where, key, float(value))
        cones = [f for f in kind.type.frictions if f.cone is not None and f.cone.coefficients]
        if cones and "coefficients" in laws:  # whose shape depends on parameters; others were checked when declared
            values = numbering.evaluate(kind, "coefficients", t, q, parameters)
            for member, row in zip(kind.members, values, strict=True):
                where = f"{model.system.name}: contact of {numbering.instances[member].name!r}"
                for f in cones:
                    assert f.cone is not None
                    check_projection(where, f.cone, row.ravel()[f.coefficient : f.coefficient + f.cone.coefficients])


def name_of_law(numbering: Numbering, member: int, symbol: str, k: int) -> str:
    """The contact that the k-th value of a law of a part belongs to."""
    declared = numbering.model.equations[member - len(numbering.model.nodes)].contacts
    with_law = [c for c in declared if (c.gap is not None if symbol == "e_N" else c.slip.numel() > 0)]
    return with_law[k].name if k < len(with_law) else numbering.instances[member].name


def not_finite(numbering: Numbering, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> list[str]:
    """Parts whose forces are not finite at a state; the system itself for those from equations."""
    out = []
    for kind in numbering.part_kinds:
        if not kind.type.n_u:
            continue
        e = kind.type.expressions
        h = law_function(kind.type, "h", kind.type.h(T, e.q, e.u))
        local = [x[numbering.rows(kind, space)].T for x, space in ((q, "q"), (u, "u"))]
        values = np.array(h(t, *local, parameters[kind.parameters].T)).reshape(kind.type.n_u, len(kind.members))
        out += [numbering.instances[kind.members[k]].name for k in np.flatnonzero(~np.isfinite(values).all(axis=0))]
    return out


def check_orientations(numbering: Numbering, q: np.ndarray) -> None:
    """A quaternion of length zero is no orientation: forces of shapes would not be numbers, and a free body would not turn."""
    lost = without_orientation(numbering, q[None, :])
    if lost.any():
        bodies = [b for b in numbering.model.system.blocks if b.alike == turning()]
        raise InitialStateError(
            f"{numbering.model.system.name}: the quaternion of {bodies[int(lost[0].argmax())].name!r} has length zero; "
            "(1, 0, 0, 0) turns nothing"
        )


def without_orientation(numbering: Numbering, q: np.ndarray) -> np.ndarray:
    """Which bodies have a quaternion of length zero, for each row of q."""
    p = q[:, once(numbering.model.kept, QUATERNIONS, lambda: _quaternions(numbering.model.system))]
    return (p * p).sum(2) == 0


def _quaternions(system: System) -> np.ndarray:
    """Where the quaternions of rigid bodies lie, one row per body."""
    first = [int(at) for b, at in zip(system.blocks, system.starts["q"], strict=False) if b.alike == turning()]
    return np.array(first, np.int64)[:, None] + np.arange(3, 7)


def check_initial_state(
    observed: dict[str, np.ndarray],
    names_of_rows: Callable[[], dict[str, tuple[str, ...]]],
    numbering: Numbering,
    tolerance: float,
) -> None:
    """Constraints hold and no contact begins inside an obstacle, up to the tolerance."""
    if _holds(observed, tolerance):
        return
    system, names = numbering.model.system, names_of_rows()
    _check_joints(observed["g"][0], numbering, tolerance)
    for key, labels, level in (
        ("g", names["g"], "position"),
        ("g_dot", names["g"], "velocity"),
        ("gamma", names["gamma"], "velocity"),
    ):
        values = np.abs(observed[key][0])
        if not np.isfinite(values).all():
            raise InitialStateError(
                f"{system.name}: constraint {labels[int(np.argmin(np.isfinite(values)))]!r} is not finite"
            )
        if values.max(initial=0.0) > tolerance:
            k = int(values.argmax())
            raise InitialStateError(
                f"{system.name}: the initial state violates constraint {labels[k]!r} on {level} level by "
                f"{observed[key][0, k]:.6g}; correct initial= or velocity=, or call system.assemble(); {CONTINUE}"
            )
    gap = observed["gap"][0]
    if gap.size and not np.isfinite(gap).all():
        raise InitialStateError(
            f"{system.name}: gap {names['contacts'][int(np.argmin(np.isfinite(gap)))]!r} is not finite"
        )
    if gap.min(initial=0.0) < -tolerance:
        k = int(gap.argmin())
        raise InitialStateError(
            f"{system.name}: the initial state lies inside an obstacle: gap {names['contacts'][k]!r} is {gap[k]:.6g} "
            f"< 0; move it out, or call system.assemble(obstacles=True); {CONTINUE}"
        )


def _holds(observed: dict[str, np.ndarray], tolerance: float) -> bool:
    """Whether all is well at first sight: what is not a number is not."""
    sizes = [float(observed[key][0] @ observed[key][0]) for key in ("g", "g_dot", "gamma")]
    gap = observed["gap"][0]
    return bool(max(sizes) <= tolerance**2 and (gap >= -tolerance).all() and np.isfinite(gap).all())


def _check_joints(g: np.ndarray, numbering: Numbering, tolerance: float) -> None:
    """Joints that say what they join complain first, with the distance of the points that should coincide."""
    model = numbering.model
    for k, equations in enumerate(model.equations):
        ends = np.cumsum([c.value.numel() for c in equations.constraints])
        for c, rows in zip(equations.constraints, np.split(g[numbering.own(k, "g")], ends[:-1]), strict=False):
            size = float(np.sqrt(rows @ rows))
            if c.about and size > tolerance:
                raise InitialStateError(
                    f"{model.system.name}: {equations.name!r} does not fit the initial state: {c.about}, they are off by "
                    f"{size:.6g}; correct the positions, or call system.assemble(); {CONTINUE}"
                )
