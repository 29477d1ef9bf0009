"""Sparse linear systems of one Newton step: islands, and within large ones an order that keeps the elimination sparse.

A system falls apart into islands, sets of unknowns that no entry couples: bodies that do not touch. Small islands are
eliminated in dense rows, large ones by the multifrontal method: unknowns that belong together (of one body, of one contact)
form a node; each node is eliminated in a small dense matrix, its front.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import apart, jit
from stickslip.nonsmooth.linear import eliminate

ENTRY = np.dtype([("row", np.int32), ("column", np.int32), ("value", np.float64)])  # those of one place add up
DENSE_ISLAND = 64  # unknowns, up to which an island is eliminated in dense rows


@apart("boolean", allocates=True)
def solve_islands(n: int, entries: np.ndarray, node: np.ndarray, right: np.ndarray, threshold: float) -> bool:
    """Solve a system of n unknowns that is given by its entries; the solution replaces `right`, False if singular.

    Unknowns with the same number in `node` stay together; it is negative for multipliers, whose rows have no diagonal.
    """
    island, place = _islands(n, entries), np.empty(n, np.int64)  # place of an unknown in its island
    number, n_islands = np.full(n, -1, np.int64), 0
    for i in range(n):
        if number[island[i]] < 0:
            number[island[i]] = n_islands
            n_islands += 1
    size = np.zeros(n_islands, np.int64)
    for i in range(n):
        island[i] = number[island[i]]
        place[i] = size[island[i]]
        size[island[i]] += 1
    of_entry = np.empty(entries.size, np.int64)
    for e in range(entries.size):
        of_entry[e] = island[entries[e].row]
    members, first = _sorted_by(island, n_islands)
    sorted_entries, begin = _sorted_by(of_entry, n_islands)
    largest = 0
    for k in range(n_islands):
        if largest < size[k] <= DENSE_ISLAND:
            largest = size[k]
    a, b = np.empty(largest * largest), np.empty(largest)
    rows, columns = np.empty(largest, np.int64), np.empty(largest, np.int64)
    for k in range(n_islands):
        m, own, mine = size[k], members[first[k] : first[k + 1]], sorted_entries[begin[k] : begin[k + 1]]
        if m > DENSE_ISLAND:
            if not _eliminate_sparse(own, place, mine, entries, node, right, threshold):
                return False
            continue
        for i in range(m * m):
            a[i] = 0.0
        for e in mine:
            a[place[entries[e].row] * m + place[entries[e].column]] += entries[e].value
        for i in range(m):
            b[i] = right[own[i]]
        if not eliminate(a, b, m, threshold, rows, columns):
            return False
        for i in range(m):
            right[own[i]] = b[i]
    return True


@jit
def _islands(n: int, entries: np.ndarray) -> np.ndarray:
    """The island of each unknown, by its first member."""
    parent = np.empty(n, np.int64)
    for i in range(n):
        parent[i] = i
    for e in range(entries.size):
        i, j = entries[e].row, entries[e].column
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i < j:
            parent[j] = i
        else:
            parent[i] = j
    for i in range(n):  # a parent comes before its children
        parent[i] = parent[parent[i]]
    return parent


@jit
def _sorted_by(key: np.ndarray, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices sorted by their key 0, 1, ..., and where each key begins."""
    first = np.zeros(n_keys + 1, np.int64)
    for i in range(key.size):
        first[key[i] + 1] += 1
    for k in range(n_keys):
        first[k + 1] += first[k]
    out, at = np.empty(key.size, np.int64), first.copy()
    for i in range(key.size):
        out[at[key[i]]] = i
        at[key[i]] += 1
    return out, first


@jit
def _number_nodes(own: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, int]:
    """The nodes of an island, numbered in the order of their first unknown."""
    low, high = node[own[0]], node[own[0]]
    for i in own:
        low, high = min(low, node[i]), max(high, node[i])
    number, out, nodes = np.full(high - low + 1, -1, np.int64), np.empty(own.size, np.int64), 0
    for k in range(own.size):
        name = node[own[k]] - low
        if number[name] < 0:
            number[name] = nodes
            nodes += 1
        out[k] = number[name]
    return out, nodes


@jit
def _eliminate_sparse(
    own: np.ndarray,
    place: np.ndarray,
    mine: np.ndarray,
    entries: np.ndarray,
    node: np.ndarray,
    right: np.ndarray,
    threshold: float,
) -> bool:
    """Solve one island: its unknowns `own`, its entries `mine`.

    A front has a node's own unknowns and those of the neighbours that it has when its turn comes. What is left of it after
    the elimination is added to the front of the first of these. The right-hand side is a further column.
    """
    node_of, nodes = _number_nodes(own, node)
    unknown, first = _sorted_by(node_of, nodes)
    smooth = np.ones(nodes, np.bool_)
    for i in range(own.size):
        smooth[node_of[i]] = node[own[i]] >= 0
    edges = np.empty((mine.size, 2), np.int64)
    for e in range(mine.size):
        edges[e, 0] = node_of[place[entries[mine[e]].row]]
        edges[e, 1] = node_of[place[entries[mine[e]].column]]
    order, step, pool, start, count = _minimum_degree(nodes, edges, smooth)
    target = np.empty(mine.size, np.int64)  # entries go to the front of the node that is eliminated first
    for e in range(mine.size):
        target[e] = edges[e, 0] if step[edges[e, 0]] < step[edges[e, 1]] else edges[e, 1]
    sorted_entries, begin = _sorted_by(target, nodes)

    # Sizes are known now: of the fronts, and of what they keep and leave.
    width, kept, left = np.empty(nodes, np.int64), np.zeros(nodes + 1, np.int64), np.zeros(nodes + 1, np.int64)
    largest = 0
    for v in range(nodes):
        f = first[v + 1] - first[v]
        for k in range(start[v], start[v] + count[v]):
            f += first[pool[k] + 1] - first[pool[k]]
        rest = f - (first[v + 1] - first[v])
        width[v], largest = f, max(largest, f)
        kept[v + 1] = kept[v] + (f - rest) * (f + 1)
        left[v + 1] = left[v] + rest * (rest + 1)
    factors, remainders = np.empty(kept[nodes]), np.empty(left[nodes])
    front, index, where = np.empty(largest * (largest + 1)), np.empty(largest, np.int64), np.empty(own.size, np.int64)
    child, sibling = np.full(nodes, -1, np.int64), np.full(nodes, -1, np.int64)
    for v in order:
        f, size, stride = width[v], first[v + 1] - first[v], width[v] + 1
        _members(v, first, unknown, pool, start, count, index)
        for i in range(f):
            where[index[i]] = i
        for i in range(f * stride):
            front[i] = 0.0
        for e in sorted_entries[begin[v] : begin[v + 1]]:
            entry = entries[mine[e]]
            front[where[place[entry.row]] * stride + where[place[entry.column]]] += entry.value
        for i in range(size):
            front[i * stride + f] = right[own[index[i]]]
        c = child[v]
        while c >= 0:
            _members(c, first, unknown, pool, start, count, index)
            own_size = first[c + 1] - first[c]
            rest = width[c] - own_size
            at = left[c]
            for i in range(own_size, width[c]):
                line = where[index[i]] * stride
                for j in range(own_size, width[c]):
                    front[line + where[index[j]]] += remainders[at]
                    at += 1
                front[line + f] += remainders[at]
                at += 1
            c = sibling[c]
        if not _eliminate_front(front, size, f, threshold):
            return False
        for i in range(size * stride):
            factors[kept[v] + i] = front[i]
        at = left[v]
        for i in range(size, f):
            for j in range(size, f + 1):
                remainders[at] = front[i * stride + j]
                at += 1
        if count[v] > 0:
            parent = pool[start[v]]
            for k in range(start[v] + 1, start[v] + count[v]):
                if step[pool[k]] < step[parent]:
                    parent = pool[k]
            sibling[v], child[parent] = child[parent], v
    for k in range(nodes - 1, -1, -1):
        v = order[k]
        f = width[v]
        _members(v, first, unknown, pool, start, count, index)
        for i in range(first[v + 1] - first[v] - 1, -1, -1):
            line = kept[v] + i * (f + 1)
            x = factors[line + f]
            for j in range(i + 1, f):
                x -= factors[line + j] * right[own[index[j]]]
            right[own[index[i]]] = x / factors[line + i]
    return True


@jit
def _members(
    v: int,
    first: np.ndarray,
    unknown: np.ndarray,
    pool: np.ndarray,
    start: np.ndarray,
    count: np.ndarray,
    index: np.ndarray,
) -> None:
    """The unknowns of a front: those of the node, then those of its neighbours."""
    f = 0
    for i in range(first[v], first[v + 1]):
        index[f] = unknown[i]
        f += 1
    for k in range(start[v], start[v] + count[v]):
        for i in range(first[pool[k]], first[pool[k] + 1]):
            index[f] = unknown[i]
            f += 1


@jit
def _eliminate_front(a: np.ndarray, size: int, f: int, threshold: float) -> bool:
    """Eliminate the first unknowns of a front of f; rows are exchanged among theirs only."""
    s = f + 1
    for k in range(size):
        p, best = k, abs(a[k * s + k])
        for i in range(k + 1, size):
            if abs(a[i * s + k]) > best:
                p, best = i, abs(a[i * s + k])
        if not best > threshold:
            return False
        if p != k:
            for j in range(k, s):
                a[k * s + j], a[p * s + j] = a[p * s + j], a[k * s + j]
        inverse = 1.0 / a[k * s + k]
        for i in range(k + 1, f):
            factor = a[i * s + k] * inverse
            if factor != 0.0:
                for j in range(k + 1, s):
                    a[i * s + j] -= factor * a[k * s + j]
    return True


@jit
def _minimum_degree(
    nodes: int, edges: np.ndarray, smooth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An order of elimination, and the neighbours that each node has when its turn comes.

    The node with the fewest neighbours is next. Multipliers are not pivots by themselves: they wait for all bodies beside them,
    and then have their Delassus matrix as a pivot. (After one body alone, more contacts than it has velocities would fail.)
    Returns the order, the turn of each node, and the neighbours of node v in pool[start[v] : start[v] + count[v]].
    """
    start, count, mark = np.zeros(nodes + 1, np.int64), np.zeros(nodes, np.int64), np.full(nodes, nodes, np.int64)
    for e in range(edges.shape[0]):
        if edges[e, 0] != edges[e, 1]:
            start[edges[e, 0] + 1] += 1
            start[edges[e, 1] + 1] += 1
    for v in range(nodes):
        start[v + 1] += start[v]
    raw, at = np.empty(start[nodes], np.int64), start.copy()
    for e in range(edges.shape[0]):
        i, j = edges[e, 0], edges[e, 1]
        if i != j:
            raw[at[i]], raw[at[j]] = j, i
            at[i] += 1
            at[j] += 1
    pool, used, waiting = np.empty(4 * raw.size + 4 * nodes, np.int64), 0, np.zeros(nodes, np.int64)
    for v in range(nodes):
        begin = used
        mark[v] = v
        for k in range(start[v], start[v + 1]):
            if mark[raw[k]] != v:
                mark[raw[k]] = v
                pool[used] = raw[k]
                used += 1
                if not smooth[v] and smooth[raw[k]]:
                    waiting[v] += 1
        at[v], count[v] = begin, used - begin
    order, step = np.empty(nodes, np.int64), np.full(nodes, -1, np.int64)
    stamp = nodes
    for k in range(nodes):
        best = -1
        for v in range(nodes):
            if step[v] < 0 and waiting[v] == 0 and (best < 0 or count[v] < count[best]):
                best = v
        order[k], step[best] = best, k
        if smooth[best]:
            for e in range(start[best], start[best + 1]):
                if mark[raw[e]] != -1 - k:  # each neighbour once
                    mark[raw[e]] = -1 - k
                    if not smooth[raw[e]]:
                        waiting[raw[e]] -= 1
        for e in range(at[best], at[best] + count[best]):
            w = pool[e]
            if used + count[w] + count[best] > pool.size:
                bigger = np.empty(2 * pool.size + count[w] + count[best], np.int64)
                for i in range(used):
                    bigger[i] = pool[i]
                pool = bigger
            begin, stamp = used, stamp + 1
            mark[w], mark[best] = stamp, stamp
            for source in range(2):
                v = w if source == 0 else best
                for i in range(at[v], at[v] + count[v]):
                    if mark[pool[i]] != stamp:
                        mark[pool[i]] = stamp
                        pool[used] = pool[i]
                        used += 1
            at[w], count[w] = begin, used - begin
    return order, step, pool, at, count
