"""Expressions to native code: a CasADi SX Function becomes a kernel, through LLVM and without a compiler.

    SX Function -> LLVM IR as text (`emit`) -> object code, or the same from the disk (`Store`) -> address (`Kernel`)

The disk also knows which object code a Function has led to, as writing its instructions down takes longer than loading them.

A kernel is `void (const double *inputs, double *outputs)`. The nonzeros of all inputs of the Function lie packed in
`inputs`, those of all outputs in `outputs`, each in CasADi's column-major order; the two must not overlap.
Every operation gives the bits that CasADi's own evaluation gives (`operations`).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

import casadi as ca
import llvmlite
import llvmlite.binding as llvm
import numpy as np

from stickslip.jit import SIGNATURE
from stickslip.native.emit import SYMBOL, KernelError, NarrowError, emit
from stickslip.store import KERNELS, KEYS, Store, sources

__all__ = ["Kernel", "KernelError", "NarrowError", "compile_kernel", "emit"]


@dataclass(frozen=True)
class Kernel:
    """Native code of a Function; it lives as long as this object.

    `n_in` and `n_out` count the nonzeros over all inputs and over all outputs.
    """

    name: str
    address: int
    n_in: int
    n_out: int
    code: Any = field(default=None, repr=False, compare=False)  # owns what lies at the address

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """The packed outputs of one evaluation."""
        inputs = np.ascontiguousarray(inputs, dtype=np.float64)
        if inputs.shape != (self.n_in,):
            raise KernelError(f"kernel {self.name!r} takes {self.n_in} inputs, got an array of shape {inputs.shape}")
        outputs = np.empty(self.n_out)
        SIGNATURE(self.address)(inputs.ctypes.data, outputs.ctypes.data)
        return outputs


def compile_kernel(function: ca.Function, stride: int = 0) -> Kernel:
    """The kernel of an SX Function, from the process, from the disk cache, or newly compiled.

    stride: not 0 for several instances at once (`native.lanes`).
    """
    key = hashlib.sha256(f"{function.serialize()} {stride}".encode()).hexdigest()
    code = _LOADED.written.get(key)
    if code is None:
        code = _LOADED.written[key] = _LOADED.code(key, partial(emit, function, stride))
    address = code.get_function_address(SYMBOL)
    return Kernel(function.name(), address, function.nnz_in(), function.nnz_out(), code)


def _level(ir: str) -> int:
    """LLVM's level of code generation.

    Level 1 keeps values in registers and combines sin and cos: kernels run faster than with level 0, and take longer to
    compile, so that very long ones go without. Level 2 and passes over the IR take longer still, and gain nothing more.
    """
    return 1 if ir.count("\n") <= _LONGEST_OPTIMISED else 0


# Lines: beyond, compiling takes too long.
_LONGEST_OPTIMISED = 20_000


@cache
def _host() -> tuple[str, str]:
    """Name and features of this machine's CPU."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _maker() -> str:
    """What the text for a Function depends on, besides the Function."""
    return " ".join(
        [sources("stickslip.native.kernel", llvmlite.__version__), ca.__version__, llvm.get_process_triple()]
    )


@dataclass
class _Kernels:
    """Kernels by content: loaded ones in the process, object code on the disk; `compiled` counts the others."""

    store: Store = field(default_factory=lambda: Store(KERNELS))
    keys: Store = field(default_factory=lambda: Store(KEYS))  # of object code, by Function
    engines: WeakValueDictionary[str, llvm.ExecutionEngine] = field(default_factory=WeakValueDictionary)  # own the code
    written: WeakValueDictionary[str, llvm.ExecutionEngine] = field(default_factory=WeakValueDictionary)  # by Function
    compiled: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def code(self, function: str, write: Callable[[], str]) -> llvm.ExecutionEngine:
        """The code of the Function with this key, for as long as somebody holds it; `write` gives its text."""
        cpu, features = _host()
        name = hashlib.sha256("\n".join([_maker(), cpu, features, function]).encode()).hexdigest()
        with self.lock:
            known = self.keys.read(name)
            engine = None if known is None else self._loaded(known.decode())
            if engine is None:
                ir = write()
                level = _level(ir)
                text = "\n".join([llvmlite.__version__, cpu, features, str(level), ir])
                key = hashlib.sha256(text.encode()).hexdigest()
                engine = self._loaded(key)
                if engine is None:
                    self.store.write(key, code := _machine(level).emit_object(llvm.parse_assembly(ir)))
                    self.compiled += 1
                    engine = self._load(key, code)
                self.keys.write(name, key.encode())
            return engine

    def _loaded(self, key: str) -> llvm.ExecutionEngine | None:
        """From the process or from the disk."""
        engine = self.engines.get(key)
        if engine is None and (code := self.store.read(key)) is not None:
            engine = self._load(key, code)
        return engine

    def _load(self, key: str, code: bytes) -> llvm.ExecutionEngine:
        """New code takes the same way as code from the disk: both are the same bytes."""
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(0))
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self.engines[key] = engine
        return engine


def _machine(level: int) -> llvm.TargetMachine:
    cpu, features = _host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", jit=True)


_LOADED = _Kernels()

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
# LLVM sees the symbols of this process, so libm's, only after a first engine was made.
llvm.create_mcjit_compiler(llvm.parse_assembly(""), llvm.Target.from_default_triple().create_target_machine(jit=True))
