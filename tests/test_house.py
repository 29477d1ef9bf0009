"""The house is in order: names mean one thing each, modules stay readable."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import shapes
from stickslip.benchmarks import REGISTRY
from stickslip.engine.numbering import MULTIPLIERS
from stickslip.jit import COMPILED, Direct, jit
from stickslip.solve.prepared import prepare, program_of

PACKAGE = Path(ss.__file__).parent
PROJECT = Path(__file__).parents[1]
WITHOUT_FLOOR = {"__init__", "__main__", "_version"}


@cache
def trees():
    """The package as syntax, by path; and of each module its functions and classes, wherever they are."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[path] = tree, [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return found


def names_of_types(tree, nodes):
    """Classes, wherever they are, and aliases of types."""
    found = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in found if name.lstrip("_")[:1].isupper() and not name.isupper()]


def test_the_name_of_a_type_stands_for_one_type():
    places = defaultdict(list)
    for path, parsed in trees().items():
        for name in names_of_types(*parsed):
            places[name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", shapes.FORMER)
def test_former_names_of_shapes_are_known_and_say_the_new_one(name):
    with pytest.warns(DeprecationWarning, match=shapes.FORMER[name].__name__):
        assert getattr(shapes, name) is shapes.FORMER[name]
    with pytest.raises(AttributeError, match="Dsik"):
        shapes.Dsik  # noqa: B018


@pytest.mark.parametrize("name", ["slider_crank", "rotor", "elastic_bar", "tippedisk"])
def test_one_numbering_serves_parts_types_and_names(name):
    system = REGISTRY[name].build()
    ready = prepare(system)
    numbering, names = ready.numbering, ready.names
    for space in MULTIPLIERS:  # every row belongs to one part
        assert [row for part in numbering.parts for row in getattr(part, space)] == list(range(numbering.size[space]))
    for space in ("q", "u", *MULTIPLIERS):  # part by part as type by type
        for kind in numbering.part_kinds:
            own = [getattr(numbering.parts[i - len(numbering.model.nodes)], space) for i in kind.members]
            np.testing.assert_array_equal(numbering.rows(kind, space), np.array(own).reshape(len(own), -1))
    assert (names.q, names.u) == (system.q_names, system.u_names)
    assert [len(names.g), len(names.gamma), len(names.contacts)] == [numbering.size[x] for x in ("g", "gamma", "N")]
    assert sum(names.friction_sizes) == numbering.size["F"]


def test_every_module_has_its_floor_in_the_linter_and_in_the_picture():
    layers = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    linted = [re.findall(r"stickslip\.(\w+)", layer) for layer in layers]
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {name for floor in linted for name in floor} == there - WITHOUT_FLOOR
    picture = (PROJECT / "CONTRIBUTING.md").read_text().split("## The house")[1].split("```")[1]
    drawn = [re.findall(r"\w+", re.split(r"  +", line)[0]) for line in picture.strip().splitlines()]
    assert [name for floor in drawn for name in floor] == [name for floor in linted for name in floor]


# -- compiled code ---------------------------------------------------------------------------------------------------


def unused_names():
    """Functions, classes and methods whose name stands nowhere else."""
    places = ["src", "tests", "docs", "bench", "README.md", "CONTRIBUTING.md"]
    files = [f for p in places for f in ([PROJECT / p] if (PROJECT / p).is_file() else (PROJECT / p).rglob("*"))]
    words = Counter(
        w for f in files if f.suffix in (".py", ".md", ".js") for w in re.findall(r"\w+", f.read_text("utf-8"))
    )
    for path, (_, nodes) in trees().items():
        yield from ((path.name, node.name) for node in nodes if words[node.name] == 1)


def test_nothing_is_dead():
    # Called by Numba, pickle, a name that is put together, the command line; and figures of papers, which are listed.
    called = {"kept.py", "linked.py", "shipping.py", "derivations.py", "app.py", "listing.py"}
    found = [f for f in unused_names() if f[0] not in called and not re.match(r"(fig|table)\d", f[1])]
    assert [f for f in found if not f[1].startswith("__")] == []


@pytest.mark.skipif(not COMPILED, reason="plain Python has no types")
def test_the_compiled_loop_fits_every_program():
    from numba import typeof

    from stickslip.engine.advance import workspace

    programs = [
        program_of(REGISTRY[name].build(), ss.METHODS[method]())
        for name in ("bouncing_ball", "slider_crank", "tippedisk", "elastic_bar")
        for method in ("rattle", "theta", "generalized-alpha", "half-explicit")
    ]
    assert len({(typeof(p.tables), typeof(workspace(p))) for p in programs}) == 1


@pytest.mark.skipif(not COMPILED, reason="plain Python has no types")
def test_arguments_of_other_types_do_not_reach_code_compiled_for_the_first():
    @jit
    def first(x, n):
        return x[0] + n

    call, x = Direct(first), np.arange(6.0)
    assert call(x, 1) == call(x, 1) == 1.0
    assert call(np.arange(5, 9, dtype=np.int32), 1) == 6
    assert call(x[3::2], 1) == 4.0
    assert call(x, 0.5) == 0.5
    assert call(x.reshape(2, 3)[1], 1) == 4.0
    assert len(first.alone().overloads) == 4
