"""The order in which the unknowns of a stage are eliminated, and how its matrix is stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.engine.tables import DENSE, SMALL, SPARSE


def elimination_order(n: int, couplings: Sequence[np.ndarray], changes: bool = False) -> tuple[np.ndarray, int]:
    """An order of the unknowns, and the half bandwidth of the matrix in it; DENSE for small systems, SPARSE for the others.

    `couplings`: pairs (row, column) of the matrix. Chains of elements have bands of a few entries whatever their length.
    Elimination with row pivoting costs n b (2 b + 1) in a band and n^3/3 in full. What has no narrow band is stored as
    triplets, and solved island by island; so is what `changes` while the loop runs.
    """
    natural = np.arange(n)
    if n < SMALL:
        return natural, DENSE
    if changes:
        return natural, SPARSE
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pairs = np.concatenate([np.zeros((0, 2), np.int64), *couplings])
    pattern = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    order = reverse_cuthill_mckee((pattern + pattern.T).tocsr(), symmetric_mode=True).astype(np.int64)
    place = np.empty(n, np.int64)
    place[order] = natural
    band = int(np.abs(place[pairs[:, 0]] - place[pairs[:, 1]]).max(initial=0))
    return (order, band) if 12 * band < n else (natural, SPARSE)
