"""Look at a solution: a page with its film, a frame for notebooks, files for ParaView.

>>> from stickslip.viewer import view    # doctest: +SKIP
>>> view(solution, path="crank.html")    # doctest: +SKIP
"""

from stickslip.viewer.page import embedded, page, view
from stickslip.viewer.vtk import write_vtk

__all__ = ["embedded", "page", "view", "write_vtk"]
