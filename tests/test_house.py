"""The house is in order: names mean one thing each, modules stay readable."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import stickslip as ss
from stickslip import shapes

PACKAGE = Path(ss.__file__).parent


def test_a_class_name_stands_for_one_class():
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", shapes.FORMER)
def test_former_names_of_shapes_are_known_and_say_the_new_one(name):
    with pytest.warns(DeprecationWarning, match=shapes.FORMER[name].__name__):
        assert getattr(shapes, name) is shapes.FORMER[name]
    with pytest.raises(AttributeError, match="Dsik"):
        shapes.Dsik  # noqa: B018
