"""Flexible parts: chains of finite elements whose nodes are bodies, so that joints and contacts work on them."""

from stickslip.model.flexible.bar import Bar
from stickslip.model.flexible.beam import Beam
from stickslip.model.flexible.chain import Chain, Element, Node
from stickslip.model.flexible.sections import circular, rectangular
from stickslip.model.flexible.spatial import RotorDisk, SpatialBeam

__all__ = ["Bar", "Beam", "Chain", "Element", "Node", "RotorDisk", "SpatialBeam", "circular", "rectangular"]
