"""What must hold before the first step; every complaint names the thing, the numbers and the remedy."""

from __future__ import annotations

import numpy as np

from stickslip.engine.derive import Instance, Model, PartType
from stickslip.engine.numbering import Numbering
from stickslip.errors import InitialStateError, ModelError
from stickslip.model.declaration import check_law_value

CONTINUE = "to go on from a solution whose scheme drifts, pass initial_tol="


def check_mass(model: Model, t: float, q: np.ndarray, parameters: np.ndarray) -> None:
    """The mass matrix is symmetric and positive definite; one piece after the other, for it can be large."""
    masses: dict[int, np.ndarray] = {}
    for kind, parts in _instances(model).items():
        if kind.M(0, kind.expressions.q).nnz():
            values = _evaluate(model, kind, [part for _, part in parts], "M", t, q, parameters)
            masses |= {k: M for (k, _), M in zip(parts, np.hsplit(values, len(parts)), strict=True)}
    of_block: dict[int, list[int]] = {}
    for k in masses:
        of_block.setdefault(model.parts[k].blocks[0], []).append(k)
    for blocks in _coupled(model, masses):
        own = [model.system.blocks[b] for b in blocks]
        at = dict(zip(blocks, np.cumsum([0, *[b.n_u for b in own]]), strict=False))
        M = np.zeros((sum(b.n_u for b in own),) * 2)
        for k in (k for b in blocks for k in of_block.get(b, ())):
            u = [np.arange(at[b], at[b] + model.system.blocks[b].n_u) for b in model.parts[k].blocks]
            M[np.ix_(np.concatenate(u), np.concatenate(u))] += masses[k]
        _check_mass(model.system.name, M, [n for b in own for n in b.u_names])


def _coupled(model: Model, masses: dict[int, np.ndarray]) -> list[list[int]]:
    """Blocks of coordinates that masses couple, in groups."""
    group = list(range(len(model.system.blocks)))

    def find(b: int) -> int:
        while group[b] != b:
            group[b] = b = group[group[b]]
        return b

    for k in masses:
        first, *others = map(find, model.parts[k].blocks)
        for other in others:
            group[find(other)] = find(first)
    out: dict[int, list[int]] = {}
    for b in range(len(group)):
        out.setdefault(find(b), []).append(b)
    return list(out.values())


def _check_mass(name: str, M: np.ndarray, labels: list[str]) -> None:
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
        worst = labels[int(np.abs(vectors[:, 0]).argmax())]
        raise ModelError(
            f"{name}: the mass matrix is not positive definite at the initial state: eigenvalue {values[0]:g} in the "
            f"direction of {worst!r}; every velocity needs a mass or inertia > 0"
        ) from None


def highest_frequency(model: Model, t: float, q: np.ndarray, parameters: np.ndarray) -> float:
    """The highest angular frequency of small oscillations about a state, as if all joints were open.

    Joints can only lower it. Of large systems (beyond 400 velocities the eigenvalues take longer than many runs) zero.
    """
    if not 0 < model.system.n_u <= 400:
        return 0.0
    numbering = Numbering(model)
    K = numbering.matrix("stiffness", t, q, parameters)
    if not np.isfinite(K).all() or not K.any():
        return 0.0
    L = np.linalg.cholesky(numbering.matrix("M", t, q, parameters))
    half = np.linalg.solve(L, K)
    scaled = np.linalg.solve(L, half.T)
    return float(np.sqrt(max(0.0, np.linalg.eigvalsh((scaled + scaled.T) / 2)[-1])))


def check_laws(model: Model, t: float, q: np.ndarray, parameters: np.ndarray) -> None:
    """Friction and restitution are in range for the values of the parameters."""
    keys = {"mu": "friction", "radius": "radius", "e_N": "restitution", "e_F": "tangential_restitution"}
    for kind, parts in _instances(model).items():
        if not (kind.n["N"] or kind.n["F"]):
            continue
        for symbol, key in keys.items():
            values = _evaluate(model, kind, [part for _, part in parts], symbol, t, q, parameters)
            for (_, part), column in zip(parts, values.T, strict=True):
                for value in column:
                    check_law_value(f"{model.system.name}: contact of {part.name!r}", key, float(value))


def _instances(model: Model) -> dict[PartType, list[tuple[int, Instance]]]:
    """The parts by their types, numbered."""
    out: dict[PartType, list[tuple[int, Instance]]] = {}
    for k, part in enumerate(model.parts):
        out.setdefault(part.type, []).append((k, part))
    return out


def _evaluate(
    model: Model, kind: PartType, parts: list[Instance], name: str, t: float, q: np.ndarray, parameters: np.ndarray
) -> np.ndarray:
    """A function of a type for all of its instances at once, side by side."""
    at = np.cumsum([0, *[b.n_q for b in model.system.blocks]])
    rows = [[i for b in part.blocks for i in range(at[b], at[b + 1])] for part in parts]
    mine = parameters[np.array([part.parameters for part in parts], int)].T.reshape(-1, len(parts))
    return kind.evaluate(name, t, q[np.array(rows, int)].T, mine)


def check_initial_state(
    observed: dict[str, np.ndarray], names: dict[str, tuple[str, ...]], model: Model, tolerance: float
) -> None:
    """Constraints hold and no contact begins inside an obstacle, up to the tolerance."""
    system = model.system
    _check_joints(observed["g"][0], model, tolerance)
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


def _check_joints(g: np.ndarray, model: Model, tolerance: float) -> None:
    """Joints that say what they join complain first, with the distance of the points that should coincide."""
    at = 0
    for equations in model.equations:
        for c in equations.constraints:
            rows, at = g[at : at + c.value.numel()], at + c.value.numel()
            size = float(np.sqrt(rows @ rows))
            if c.about and size > tolerance:
                raise InitialStateError(
                    f"{model.system.name}: {equations.name!r} does not fit the initial state: {c.about}, they are off by "
                    f"{size:.6g}; correct the positions, or call system.assemble(); {CONTINUE}"
                )
