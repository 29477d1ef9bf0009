"""Mechanisms from files of other programs: URDF and MJCF become systems of parts."""

from stickslip.importers.mechanism import ImportedSystem, ImportReport, IncompleteImport
from stickslip.importers.mjcf import from_mjcf
from stickslip.importers.urdf import from_urdf

__all__ = ["ImportReport", "ImportedSystem", "IncompleteImport", "from_mjcf", "from_urdf"]
