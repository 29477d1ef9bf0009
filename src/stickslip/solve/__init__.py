"""The one door to a simulation, and what it keeps of a system."""

from stickslip.solve.door import solve

__all__ = ["solve"]
