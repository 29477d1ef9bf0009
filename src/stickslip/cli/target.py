"""What a command works on: a benchmark by its name, or a model in a Python file of the user's."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stickslip.errors import OptionError, StickslipError, unknown_name

if TYPE_CHECKING:
    from stickslip.model.system import System

LIKELY = ("system", "build", "model", "make_system", "make")
"""Names of functions that make the system, where no annotation says so."""


@dataclass(frozen=True)
class TargetModel:
    """Something to simulate: `build(...)` makes the system; step, end time, method and tolerance that suit it, where known."""

    name: str
    build: Callable[..., System]
    dt: float | None = None
    t_end: float | None = None
    method: str = "rattle"
    tol: float = 1e-8

    def times(self, dt: float | None, t_end: float | None) -> tuple[float, float]:
        """Step and end time: those given, else its own."""
        dt, t_end = self.dt if dt is None else dt, self.t_end if t_end is None else t_end
        if dt is None or t_end is None:
            missing = " and ".join(k for k, v in {"--dt": dt, "--t-end": t_end}.items() if v is None)
            raise OptionError(f"{self.name}: give {missing}, or write dt = ... and t_end = ... into the file")
        return dt, t_end

    def made(self, settings: list[str] | None) -> tuple[System, dict[str, float]]:
        """The system with its settings, and the parameters to solve it with, which the provenance keeps."""
        arguments, parameters = split_settings(settings or [], self.build)
        system = self.build(**arguments)
        for key in parameters.keys() - system.parameters:
            if key not in system.parameter_symbols():  # which says itself what follows from others
                known = {*inspect.signature(self.build).parameters, *system.parameters}
                raise OptionError(f"{system.name}: {unknown_name('parameter', key, known)}")
        return system, parameters | {key: arguments[key] for key in arguments.keys() & system.parameters}


@dataclass(frozen=True)
class Begun:
    """What a study on the command line works with, and the files that it is going to write."""

    model: TargetModel
    system: System
    parameters: dict[str, float]
    files: tuple[Path, ...]


def begin(
    what: str, settings: list[str] | None, out: Path, kept: Sequence[str], overwrite: bool, drawn: Sequence[str] = ()
) -> Begun:
    """Find the model, refuse to lose results (endings `kept`; those `drawn` from them can be drawn again), and make it."""
    from stickslip.cli.common import claim

    model = find(what)
    files = [out / f"{model.name}_{ending}" for ending in (*drawn, *kept)]
    claim(files[len(drawn) :], overwrite)
    return Begun(model, *model.made(settings), tuple(files))


def find(what: str) -> TargetModel:
    """The benchmark or the file that `what` names."""
    from stickslip.benchmarks import REGISTRY

    if what in REGISTRY:
        chosen = REGISTRY[what]
        return TargetModel(chosen.name, chosen.build, chosen.dt, chosen.t_end, chosen.method, chosen.tol)
    path, _, attribute = what.partition(":") if ".py" in what else (what, "", "")
    if path.endswith(".py"):
        return _from_file(Path(path), attribute)
    if Path(what).exists():
        raise OptionError(f"{what} is neither a benchmark nor a Python file; end its name in .py")
    raise OptionError(unknown_name("benchmark", what, REGISTRY))


def _from_file(path: Path, attribute: str) -> TargetModel:
    """The system of a Python file: FILE.py:NAME, else its only System, else its only function that returns one."""
    from stickslip.model.system import System

    module = _run(path)
    found = _named(module, path, attribute) if attribute else _only(module, path)
    build = found if callable(found) else lambda: found
    own = getattr(found, "__name__", path.stem)
    name = path.stem if own in LIKELY else own  # `build` says nothing about what it builds
    if isinstance(found, System):
        name = found.name.replace(" ", "_").replace("/", "_")
    given = {key: getattr(module, key, None) for key in ("dt", "t_end", "method")}
    for key in ("dt", "t_end"):
        if given[key] is not None and not isinstance(given[key], int | float):
            raise OptionError(f"{path}: {key} = {given[key]!r} must be a number")
    return TargetModel(name, _checked(build, path, own), given["dt"], given["t_end"], given["method"] or "rattle")


def _run(path: Path) -> ModuleType:
    """Run a Python file as a module; its folder can be imported from, as `python FILE.py` does it."""
    if not path.exists():
        raise OptionError(f"{path} does not exist. Name a Python file, or one of the benchmarks of `stickslip list`.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if path.is_dir() or spec is None or spec.loader is None:
        raise OptionError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[path.stem] = module  # dataclasses and pickle look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise OptionError(f"{path} cannot be run{_place(error, path)}: {_said(error)}") from error
    return module


def _named(module: ModuleType, path: Path, attribute: str) -> Any:
    if not hasattr(module, attribute):
        public = [name for name in vars(module) if not name.startswith("_")]
        raise OptionError(f"{path}: {unknown_name('name', attribute, public)}")
    return getattr(module, attribute)


def _only(module: ModuleType, path: Path) -> Any:
    """The one thing in a module that is meant to be simulated; never a guess between two."""
    from stickslip.model.system import System

    names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    systems = {name: value for name, value in names.items() if isinstance(value, System)}
    own = {n: v for n, v in names.items() if inspect.isfunction(v) and v.__module__ == module.__name__}
    annotated = {n: v for n, v in own.items() if _returns_system(v)}
    likely = {n: v for n, v in own.items() if n in LIKELY}
    for found in (systems, annotated, likely):
        if len({id(value) for value in found.values()}) == 1:
            return next(iter(found.values()))
        if found:
            raise OptionError(f"{path} makes several systems: choose one, as in {path}:{next(iter(found))} "
                              f"({', '.join(found)})")  # fmt: skip
    raise OptionError(
        f"{path} makes no System: assign one to a variable (system = ss.System(...)), or define a function "
        "`def system() -> ss.System`; FILE.py:NAME chooses a function of another name"
    )


def _returns_system(function: Callable[..., Any]) -> bool:
    annotation = function.__annotations__.get("return")
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.rpartition(".")[2] == "System"


def _checked(build: Callable[..., Any], path: Path, name: str) -> Callable[..., System]:
    """`build`, whose errors name the file, and whose result is a System."""
    from functools import wraps

    from stickslip.model.system import System

    @wraps(build)
    def made(**arguments: Any) -> System:
        try:
            result = build(**arguments)
        except Exception as error:
            raise OptionError(f"{path}: {name} failed{_place(error, path)}: {_said(error)}") from error
        if not isinstance(result, System):
            raise OptionError(f"{path}: {name} gives {result!r}, not a System")
        return result

    return made


def _place(error: Exception, path: Path) -> str:
    """The line of the user's file that an error comes from."""
    if isinstance(error, SyntaxError):
        return f" (line {error.lineno})"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.resolve()]
    lines = lines or [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return f" (line {lines[-1]})" if lines else ""


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, StickslipError) else f"{type(error).__name__}: {error}"


# --- settings ------------------------------------------------------------------------------------------------------


def split_settings(settings: list[str], build: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """`--set` values that a model's function takes, and the others, which are parameters of its system.

    >>> def ball(mass=1.0, case=1): ...
    >>> split_settings(["case=2", "mu=0.1"], ball)
    ({'case': 2}, {'mu': 0.1})
    """
    known = inspect.signature(build).parameters
    arguments: dict[str, Any] = {}
    parameters: dict[str, float] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not (key and equals and text):
            raise OptionError(f"--set {setting}: write it as KEY=VALUE, for example --set mu=0.1")
        if key in known:
            arguments[key] = _value(setting, text, known[key].default)
        else:
            parameters[key] = float(_value(setting, text, 0.0))
    return arguments, parameters


def _value(setting: str, text: str, default: Any) -> Any:
    """A setting's text as the type that the default has."""
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise OptionError(f"--set {setting}: the value must be true or false")
        return text.lower() == "true"
    try:
        if isinstance(default, tuple | list):
            return [float(part) for part in text.split(",")]
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        expected = {int: "an integer", float: "a number"}.get(type(default), "numbers separated by commas")
        raise OptionError(f"--set {setting}: the value must be {expected}") from None
