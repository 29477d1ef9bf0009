"""`save=`: what is asked for is kept, as it would be without; whatever was left out says so by name."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import stickslip as ss

CHOSEN = ["q", "energy", "hinge.angle", "floor.force", "tip"]


def swing() -> ss.System:
    """A rod that turns over several times, above a floor that it hits."""
    s = ss.System("swing")
    rod = s.add(
        ss.PlanarBody("rod", mass=1.0, inertia=0.1, position=[0.5, 0], angular_velocity=12.0, velocity=[0, 6.0])
    )
    s.add(ss.Revolute("hinge", ss.ground.point(0, 0), rod.point(-0.5, 0)))
    ball = s.add(ss.PointMass("ball", mass=1.0, position=[3.0, 0.2]))
    s.add(ss.Gravity([0, -9.81]))
    s.add(ss.Contact("floor", ball.point(), ss.Line([0, 0], [0, 1]), friction=0.3, restitution=0.5))
    s.measure("tip", rod.position([0.5, 0])[1], unit="m")
    return s


@pytest.fixture(scope="module")
def whole():
    return ss.solve(swing(), 1.0, 1e-3, progress=False)


@pytest.mark.parametrize("where", ["memory", "file", "file in pieces"])
def test_what_is_kept_is_what_would_have_been(whole, where, tmp_path, monkeypatch):
    from stickslip.solve import outfile

    if where == "file in pieces":
        monkeypatch.setattr(outfile, "FLUSH_SECONDS", -1.0)
    out = None if where == "memory" else tmp_path / "run.h5"
    some = ss.solve(swing(), 1.0, 1e-3, save=CHOSEN, out=out, progress=False)
    some.save(tmp_path / "saved.h5")
    for s in (some, ss.load(tmp_path / "saved.h5"), pickle.loads(pickle.dumps(some))):
        for name in ["t", "ball.y", "energy.total", "hinge.angle", "floor.force", "tip"]:
            np.testing.assert_allclose(
                s[name], whole[name], rtol=0, atol=1e-12 * np.abs(whole[name]).max(), err_msg=name
            )
        assert s["hinge.angle"][-1] > 2 * np.pi  # it does not jump, neither at pi nor between two pieces
        assert s.quantities["floor.force"] == "N"
        assert not s.holds("u")
        for use in (
            lambda s=s: s.u[0],
            lambda s=s: s.P_N.max(),
            lambda s=s: np.sum(s.gap),
            lambda s=s: s.u + 1,
            lambda s=s: s.plot(),
        ):
            with pytest.raises(ss.OptionError, match="this solution does not hold '(u|P_N|gap|g)'"):
                use()
        with pytest.raises(
            ss.OptionError, match="unknown quantity 'floor.gap'.*gap.*`save=` of the run left these out"
        ):
            s["floor.gap"]
        assert "smallest gap" not in s.summary()
        assert list(s.to_xarray().data_vars) == ["q", "kinetic", "potential", "hinge.angle", "floor.force", "tip"]
        assert "floor.force" in s.to_pandas()


def test_further_results_that_are_missing_are_named(tmp_path):
    ball, options = ss.benchmarks.bouncing_ball(), {"method": "half-explicit", "progress": False}
    everything = ss.solve(ball, 0.1, 1e-2, **options)
    some = ss.solve(ball, 0.1, 1e-2, save=["q", "lambda_N"], **options)
    for s in (everything, pickle.loads(pickle.dumps(everything))):
        assert s.extra["Lambda_N"].shape == (11, 1)
        assert s.extra.get("Lambda_n") is None
        with pytest.raises(ss.OptionError, match="extra: unknown result 'Lambda_n'; did you mean 'Lambda_.'"):
            s.extra["Lambda_n"]
    some.save(tmp_path / "some.h5")
    for s in (some, ss.load(tmp_path / "some.h5"), copy.deepcopy(some)):
        assert list(s.extra) == ["lambda_N"]
        with pytest.raises(ss.OptionError, match="does not hold 'Lambda_N' in `extra`: save= .*Kept: lambda_N"):
            s.extra["Lambda_N"]


def test_files_are_as_small_as_what_they_keep(tmp_path):
    ball, sizes = ss.benchmarks.slider_crank(), {}
    for save in (None, ["q"]):
        ss.solve(ball, 0.2, 1e-4, save=save, out=tmp_path / "run.h5", overwrite=True, progress=False)
        sizes[save is None] = (tmp_path / "run.h5").stat().st_size
    assert sizes[False] < 0.4 * sizes[True]


def test_a_run_that_keeps_little_is_continued(tmp_path):
    path, options = tmp_path / "run.h5", {"save": CHOSEN, "progress": False}
    ss.solve(swing(), 0.5, 1e-3, out=path, **options)
    longer = ss.resume(path, swing(), t_end=1.0, progress=False)
    once = ss.solve(swing(), 1.0, 1e-3, **options)
    for name in ("ball.x", "hinge.angle", "floor.force", "tip"):
        assert np.asarray(longer[name]).tobytes() == once[name].tobytes()
    ss.solve(swing(), 0.5, 1e-3, out=path, overwrite=True, save_every=7, **options)
    with pytest.raises(ss.ResultFileError, match="save= left out"):
        ss.resume(path, swing(), t_end=1.0)
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]


@pytest.mark.parametrize(
    "save, message", [("q", "must be a list of names"), (["qq"], "unknown quantity 'qq'"), ([1], "list of names")]
)
def test_wrong_names_are_refused_before_the_run(save, message, tmp_path):
    for out in (None, tmp_path / "run.h5"):
        with pytest.raises(ss.OptionError, match=message):
            ss.solve(swing(), 1.0, 1e-3, save=save, out=out)
    assert not list(tmp_path.iterdir())
