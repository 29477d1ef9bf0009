"""A page with a solution's film: one HTML file that needs no network and no server.

>>> from stickslip.viewer import view    # doctest: +SKIP
>>> view(solution, path="crank.html")    # doctest: +SKIP
"""

from stickslip.viewer.page import page, view

__all__ = ["page", "view"]
