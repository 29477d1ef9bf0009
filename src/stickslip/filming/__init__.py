"""A film of a solution as data: moments, poses of bodies, solids, traces and contacts; see `stickslip.filming.film`.

| module | what it does |
| --- | --- |
| film | what a film is |
| shoot | moments of a solution, and its look or drawing |
| gather | looks and drawings in one form |
| build | sizes of symbols, then solids and traces in lengths of the mechanism |
"""

from stickslip.filming.film import Film, Solid, Trace
from stickslip.filming.shoot import FRAMES, IMPACT_FRAMES, drawing_of, shoot

__all__ = ["FRAMES", "IMPACT_FRAMES", "Film", "Solid", "Trace", "drawing_of", "shoot"]
