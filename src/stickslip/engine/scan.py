"""Compiled looks at the rows of a run: is a law out of its range, or a mass matrix not safely positive? (`engine.limits`)

They say where to look closer, or that nobody has to. A row costs some 0.1 microseconds; the same by calls from Python took up
to twice the time of the steps.
"""

from __future__ import annotations

from stickslip.jit import jit
from stickslip.native.call import call_kernel

PARAMETER = 1 << 40  # sources from here on are parameters; smaller ones are places, counted from where a row begins


@jit
def _gather(sources, member, n_in, rows, begin, parameters, x):
    for i in range(n_in):
        source = sources[member, i]
        x[i] = parameters[source - PARAMETER] if source >= PARAMETER else rows[begin + source]


@jit
def first_outside(address, n_in, count, impact, highest, touch, sources, acts, rows, width, first, parameters, x, y):
    """The first row, from `first` on, in which a law that acts is not in [0, highest]; -1 if there is none.

    The kernel gives `count` values, for an impact law followed by as many gaps and gap velocities. acts: places of the normal
    percussions that make a law act, one of which is enough; a law whose first place is negative always acts.
    """
    for row in range(first, rows.size // width):
        begin = row * width
        for member in range(sources.shape[0]):
            _gather(sources, member, n_in, rows, begin, parameters, x)
            call_kernel(address, x, 0, y, 0)
            for k in range(count):
                if y[k] >= 0.0 and y[k] <= highest:
                    continue
                active = acts[member, k, 0] < 0
                for j in range(acts.shape[2]):
                    place = acts[member, k, j]
                    active = active or (place >= 0 and rows[begin + place] > 0.0)
                if impact:
                    active = (active or y[count + k] <= touch) and y[2 * count + k] < 0.0
                if active:
                    return row
    return -1


@jit
def least_pivot(addresses, n_in, sizes, starts, sources, places, rows, begin, parameters, M, x, y):
    """The least pivot of the mass matrix of the row that begins there, with a unit diagonal; <= 0 if it is not positive."""
    n = M.shape[0]
    M[:, :] = 0.0
    for part in range(addresses.size):
        size = sizes[part]
        for member in range(starts[part], starts[part + 1]):
            _gather(sources, member, n_in[part], rows, begin, parameters, x)
            call_kernel(addresses[part], x, 0, y, 0)
            for j in range(size):
                for i in range(size):
                    M[places[member, i], places[member, j]] += y[j * size + i]
    least = 1.0
    for k in range(n):
        diagonal = M[k, k]
        for j in range(k):
            diagonal -= M[k, j] * M[k, j] * M[j, j]  # columns before k hold L, and the pivots on the diagonal
        share = diagonal / M[k, k]
        if not share > 0.0 or not M[k, k] > 0.0:
            return 0.0
        least = min(least, share)
        for i in range(k + 1, n):
            value = M[i, k]
            for j in range(k):
                value -= M[i, j] * M[k, j] * M[j, j]
            M[i, k] = value / diagonal
        M[k, k] = diagonal
    return least


@jit
def surely_positive(
    addresses, n_in, sizes, starts, sources, places, rows, width, first, stride, safe, parameters, M, x, y
):
    """Whether all pivots of a mass matrix are above `safe`, from row `first` on.

    Every `stride`-th row is looked at, and more where the least pivot changes by more than a quarter from one to the next.
    """
    last, row, step = rows.size // width - 1, first, stride
    here = least_pivot(addresses, n_in, sizes, starts, sources, places, rows, row * width, parameters, M, x, y)
    if not here > safe:
        return False
    while row < last:
        target = min(row + step, last)
        there = least_pivot(addresses, n_in, sizes, starts, sources, places, rows, target * width, parameters, M, x, y)
        if not there > safe:
            return False
        if target - row > 1 and not min(here, there) > 4.0 * abs(here - there):
            step = max(1, (target - row) // 2)
            continue
        row, here, step = target, there, min(2 * step, stride)
    return True
