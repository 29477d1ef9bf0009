"""Every example in the documentation runs: doctests of all modules, Python blocks of all pages."""

import doctest
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import stickslip

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [m.name for m in pkgutil.walk_packages(stickslip.__path__, "stickslip.") if not m.name.endswith("__main__")]


WITHOUT_EXAMPLE = {"ImportedSystem", "NoDerivativeError", "ResultFileError", "StudyError"}


def blocks_of(page):
    """The Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("name", ["stickslip", *MODULES])
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_of_pages(page, tmp_path, monkeypatch):
    """The blocks of a page run one after another, in one namespace and in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), namespace)  # our own pages


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_everything_public_has_a_docstring():
    assert [name for name in stickslip.__all__ if not getattr(stickslip, name).__doc__] == []


def test_everything_public_has_an_example():
    """In its docstring or on a page; warnings, tables of names and what files are needed for have none."""
    shown = set(re.findall(r"\w+", "".join(block for page in PAGES for block in blocks_of(page))))
    kinds = (type, type(blocks_of))
    for name, thing in ((name, getattr(stickslip, name)) for name in stickslip.__all__):
        if isinstance(thing, kinds) and not (isinstance(thing, type) and issubclass(thing, Warning)):
            assert ">>>" in thing.__doc__ or name in shown or name in WITHOUT_EXAMPLE, name


def script(name):
    """A script that makes a page of the documentation."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_table_of_schemes_is_that_of_their_facts():
    make_table = script("make_table")
    assert make_table.PAGE.read_text(encoding="utf-8") == make_table.page()


def test_reference_has_every_public_name():
    """Names and what they are; which pages show them may lag behind until docs/make_reference.py runs again."""
    make_reference = script("make_reference")
    rows = re.compile(r"^\| (`\w+` \| .*) \|.*\|$", flags=re.MULTILINE)
    written, wanted = (rows.findall(text) for text in (make_reference.PAGE.read_text("utf-8"), make_reference.page()))
    assert written == wanted, "run `python docs/make_reference.py`"


def test_every_method_has_a_page():
    for name in stickslip.METHODS:
        assert (ROOT / "docs" / "schemes" / f"{name}.md").exists(), f"docs/schemes/{name}.md is missing"


NOT_IN_THE_GALLERY = {
    "Law",
    "Collisions",
    "ConvexPolygon",
    "SimplePolygon",
    "ClosedCurve",
}  # on the page of detected contacts
NOT_IN_THE_GALLERY |= {"Polyhedron", "TriangleMesh", "HeightField"}
NOT_IN_THE_GALLERY |= {"Frame", "System", "Contact", "Line", "Plane", "Angle", "Displacement", "Distance", "Expression"}


def test_the_gallery_shows_every_part():
    """Each part of the public interface has a sketch, a row with its equations and an example."""
    import stickslip.model
    import stickslip.model.flexible

    parts = {
        name
        for module in (stickslip.model, stickslip.model.flexible)
        for name in module.__all__
        if name in stickslip.__all__ and isinstance(getattr(module, name), type)
    } - NOT_IN_THE_GALLERY
    assert len(parts) > 35
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    examples = "".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    tables = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    sketches = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "images").glob("gallery_*.svg"))
    for name in sorted(parts):
        assert f"`{name}" in tables, f"{name} has no row in the gallery"
        assert f"ss.{name}(" in examples or name == "CoulombContensou", f"{name} has no example in the gallery"
        assert re.search(rf">[^<]*\b{name}\b[^<]*<", sketches), f"{name} has no sketch in the gallery"
