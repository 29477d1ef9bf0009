"""Cones that users write, as native code: equal ones share it, and it lives as long as somebody holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from stickslip.cone import Projection
from stickslip.native.kernel import Kernel, compile_kernel


@dataclass(frozen=True, eq=False)
class CompiledCone:
    """A cone and its kernel. Pickled, it is the cone alone, which is compiled again where it arrives."""

    cone: Projection
    kernel: Kernel

    @property
    def address(self) -> int:
        """Of the kernel: what `nonsmooth.cones` calls."""
        return self.kernel.address

    def __reduce__(self) -> tuple[Any, ...]:
        return compiled_cone, (self.cone,)


_ALIVE: WeakValueDictionary[int, CompiledCone] = WeakValueDictionary()


def compiled_cone(cone: Projection) -> CompiledCone:
    """The cone with its kernel."""
    kernel = compile_kernel(cone.function)
    known = _ALIVE.get(kernel.address)
    if known is None:
        known = _ALIVE[kernel.address] = CompiledCone(cone, kernel)
    return known


def cone_at(address: int) -> CompiledCone:
    """The one whose kernel lies at this address; somebody must hold it."""
    return _ALIVE[address]
