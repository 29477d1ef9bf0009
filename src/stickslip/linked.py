"""Functions that are parts of the loops that call them, in place of Numba's way to compile each as if it stood alone.

Numba makes of every function machine code, a wrapper for Python and one for C, and optimises it with all that it contains: at
every level at which one function contains another. Python calls two of the functions of a time loop; the rest is linked into
them, or into what is called through an address (`jit.Apart`), and optimised once, there. So the first run of an installation
compiles in less than half of the time, and the loops run at the same speed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags, compile_extra

from stickslip.kept import keep


class LinkedCode(JITCodeLibrary):
    """Code that is linked into that of callers: neither optimised as a whole nor made machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class SameFlags(Flags):
    """Numba's flags, found equal without making a table of all of them, as its typing asks two hundred thousand times."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and (self._values == other._values or super().__eq__(other))

    def __hash__(self) -> int:
        return _hash_of_flags()


@functools.cache
def _hash_of_flags() -> int:
    return hash(Flags())  # of the names of the flags: Numba leaves their values out


def linked(function: Callable, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function: a part of compiled callers, and compiled alone, and kept, if Python calls it.

    What was compiled for Python is at hand as `.alone()`.
    """
    part: Any = numba.njit(**options)(function)
    insert, template = part._insert, part.get_call_template

    @functools.cache
    def alone() -> Any:
        whole: Any = numba.njit(**options)(function)
        keep(whole, function)
        whole._insert = insert  # calls from Python are looked up there
        return whole

    def called_from_python(*arguments: Any, **named: Any) -> Any:
        return alone()._compile_for_args(*arguments, **named)

    def called_from_loop(arguments: tuple, named: dict[str, Any]) -> Any:
        # Numba would compile anew for every constant among the arguments; it is found where a part joins its caller.
        plain = {name: types.unliteral(argument) for name, argument in named.items()}
        return template(tuple(map(types.unliteral, arguments)), plain)

    part.alone = alone
    part._insert = _not_for_python
    part._compile_for_args = called_from_python
    part.get_call_template = called_from_loop
    part._compiler._compile_core = functools.partial(_compile_part, part._compiler)
    return part


def _not_for_python(*_: Any) -> None:
    """Where Numba would let Python call it."""


def _compile_part(compiler: Any, arguments: tuple, result: Any) -> Any:
    """What Numba does with a function that another one calls, without the wrappers; `compiler` is that of its dispatcher."""
    target, function = compiler.targetdescr, compiler.py_func
    flags = SameFlags()
    target.options.parse_as_flags(flags, compiler.targetoptions)
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    library = LinkedCode(target.target_context.codegen(), function.__qualname__)
    found = compile_extra(
        target.typing_context,
        target.target_context,
        function,
        args=arguments,
        return_type=result,
        flags=compiler._customize_flags(flags),
        locals=compiler.locals,
        library=library,
        pipeline_class=compiler.pipeline_class,
    )

    def name() -> None:
        """By which callers find it."""

    target.target_context.insert_user_function(name, found.fndesc, [library])
    return found._replace(entry_point=name)
