"""Kernels against CasADi's own evaluation, their errors, their two caches, and calls from compiled loops."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from stickslip.jit import SIGNATURE
from stickslip.native import kernel as module
from stickslip.native import operations as recipes
from stickslip.native.call import call_kernel
from stickslip.native.kernel import Kernel, KernelError, NarrowError, compile_kernel, emit
from stickslip.native.lanes import LANES
from stickslip.store import KERNELS, KEYS, Store

# fmt: off
UNARY = [
    "ASSIGN", "NEG", "EXP", "LOG", "SQRT", "SQ", "TWICE", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "NOT",
    "FLOOR", "CEIL", "FABS", "SIGN", "ERF", "INV", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "LOG1P",
    "EXPM1",
]
BINARY = [
    "ADD", "SUB", "MUL", "DIV", "POW", "LT", "LE", "EQ", "NE", "AND", "OR", "FMOD", "REMAINDER", "COPYSIGN",
    "IF_ELSE_ZERO", "FMIN", "FMAX", "ATAN2", "HYPOT", "LIFT",
]
# fmt: on
SIMPLIFIED_AWAY = {"ASSIGN", "LIFT"}  # by CasADi, before they reach a Function

EDGES = np.array(
    [0.0, 5e-324, 1e-310, 1e-17, 0.3, 0.5, 0.7, 1 - 2**-53, 1.0, 1.5, 2.0, 3.0, 1e8, 710.0, 1e300, np.inf, np.nan]
)
EDGES = np.concatenate([EDGES, -EDGES])
RANDOM = np.random.default_rng(1).normal(scale=3.0, size=40)


@pytest.fixture(autouse=True, scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory):
    """Kernels of these tests go to a directory of their own."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("kernels")
        patch.setenv("STICKSLIP_CACHE_DIR", str(path))
        yield path


def assert_same_bits(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Equal up to the last bit and the sign of zero; any NaN equals any other."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    np.testing.assert_array_equal(ours, theirs)
    numbers = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.signbit(ours[numbers]), np.signbit(theirs[numbers]))


def packed(function: ca.Function, inputs: np.ndarray) -> np.ndarray:
    """CasADi's own evaluation, in the packing of a kernel."""
    first = np.cumsum([0, *(function.nnz_in(k) for k in range(function.n_in()))])
    arguments = [ca.DM(function.sparsity_in(k), inputs[first[k] : first[k + 1]]) for k in range(function.n_in())]
    return np.concatenate([np.array(r.nonzeros(), float) for r in function.call(arguments)])


def operations(function: ca.Function) -> set[str]:
    ids = {function.instruction_id(k) for k in range(function.n_instructions())}
    return {name.removeprefix("OP_") for name in dir(ca) if name.startswith("OP_") and getattr(ca, name) in ids}


@pytest.mark.parametrize("name", UNARY)
def test_unary_operation(name: str) -> None:
    x = ca.SX.sym("x")
    function = ca.Function(name, [x], [ca.SX.unary(getattr(ca, f"OP_{name}"), x)])
    assert name in SIMPLIFIED_AWAY or name in operations(function)
    kernel = compile_kernel(function)
    values = np.concatenate([EDGES, RANDOM])
    assert_same_bits([kernel([v])[0] for v in values], [float(function(v)) for v in values])


@pytest.mark.parametrize("name", BINARY)
def test_binary_operation(name: str) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function(name, [x, y], [ca.SX.binary(getattr(ca, f"OP_{name}"), x, y)])
    assert name in SIMPLIFIED_AWAY or name in operations(function)
    kernel = compile_kernel(function)
    pairs = [*itertools.product(EDGES, EDGES), *zip(RANDOM[:20], RANDOM[20:], strict=True)]
    assert_same_bits([kernel(np.array(p))[0] for p in pairs], [float(function(*p)) for p in pairs])


@pytest.mark.parametrize("exponent", [2.5, -1.5, 1 / 3])
def test_constant_power(exponent: float) -> None:
    x = ca.SX.sym("x")
    function = ca.Function("power", [x], [x**exponent])
    assert "CONSTPOW" in operations(function)
    kernel = compile_kernel(function)
    values = np.concatenate([EDGES, RANDOM])
    assert_same_bits([kernel([v])[0] for v in values], [float(function(v)) for v in values])


def test_every_translated_operation_is_tested() -> None:
    names = {recipes.OPERATIONS[operation].removeprefix("OP_") for operation in recipes.RECIPES}
    assert names == {*UNARY, *BINARY, "CONSTPOW", "ERFINV"}


def test_erfinv_is_accurate_and_odd() -> None:
    """CasADi itself errs by 2e-6 around -0.7 and 0.7, so SciPy is the reference."""
    x = ca.SX.sym("x")
    kernel = compile_kernel(ca.Function("erfinv", [x], [ca.erfinv(x)]))
    tails = 1.0 - 10.0 ** -np.arange(1.0, 16.0)
    values = np.concatenate([np.linspace(0.0, 1.0, 200), tails, 10.0 ** -np.arange(0.0, 300.0, 20.0)])
    ours = np.array([kernel([v])[0] for v in values])
    np.testing.assert_allclose(ours, scipy.special.erfinv(values), rtol=2e-15)
    assert_same_bits([kernel([-v])[0] for v in values], -ours)
    assert_same_bits([kernel([v])[0] for v in (1.0, -1.0, 1.5, -np.inf)], [np.inf, -np.inf, np.nan, np.nan])


def test_constants_keep_their_bits() -> None:
    values = [0.1, 0.0, 1e-320, np.inf, -np.inf, np.nan, np.pi]
    function = ca.Function("constants", [], [ca.SX(values)])
    assert_same_bits(compile_kernel(function)(np.array([])), values)


@settings(max_examples=200, deadline=None)
@given(angle=st.floats(-1e6, 1e6))
def test_sine_and_cosine_of_one_argument_keep_their_bits(angle: float) -> None:
    x = ca.SX.sym("x")
    function = ca.Function("sincos", [x], [ca.sin(x), ca.cos(x)])
    assert_same_bits(compile_kernel(function)(np.array([angle])), packed(function, np.array([angle])))


def random_function(seed: int, n: int = 6, length: int = 150) -> ca.Function:
    """A random expression of many operations, with its dense Jacobian; inputs of several sizes, one of them sparse."""
    choose = np.random.default_rng(seed)
    x, p = ca.SX.sym("x", n), ca.SX.sym("p", ca.Sparsity.lower(3))
    pool = [*ca.vertsplit(x), *p.nonzeros(), ca.SX(0.3)]
    unary = [ca.sin, ca.cos, ca.tanh, ca.atan, ca.fabs, ca.sign, ca.erf, lambda a: ca.sqrt(1 + a * a), ca.asinh]
    binary = [
        ca.plus,
        ca.minus,
        ca.times,
        ca.fmax,
        ca.atan2,
        lambda a, b: a / (1 + b * b),
        lambda a, b: ca.if_else(a < b, a, b),
    ]
    for _ in range(length):
        if choose.random() < 0.3:
            pool.append(unary[choose.integers(len(unary))](pool[choose.integers(len(pool))]))
        else:
            a, b = choose.integers(len(pool), size=2)
            pool.append(binary[choose.integers(len(binary))](pool[a], pool[b]))
    result = ca.vertcat(*pool[-8:])
    return ca.Function(f"random_{seed}", [x, p], [result, ca.densify(ca.jacobian(result, x)), ca.jacobian(result, p)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("longest_optimised", [0, module._LONGEST_OPTIMISED])
def test_long_expressions_at_both_levels(seed: int, longest_optimised: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_OPTIMISED", longest_optimised)
    function = random_function(seed)
    kernel = compile_kernel(function)
    assert (kernel.n_in, kernel.n_out) == (function.nnz_in(), function.nnz_out())
    for inputs in np.random.default_rng(seed).normal(size=(20, kernel.n_in)):
        assert_same_bits(kernel(inputs), packed(function, inputs))


def test_zeros_and_values_mixed() -> None:
    """Runs of zeros at the start, in between and at the end are written, and nothing else is."""
    x = ca.SX.sym("x")
    row = ca.vertcat(0, 0, x, 0, 0, x, x, 0, 0, 0)
    kernel = compile_kernel(ca.Function("zeros", [x], [row]))
    assert_same_bits(kernel([2.0]), [0, 0, 2, 0, 0, 2, 2, 0, 0, 0])


def test_equal_subexpressions_are_computed_once() -> None:
    x = ca.SX.sym("x")
    ir = emit(ca.Function("twice", [x], [ca.exp(x * 3) + 1, ca.exp(x * 3) + 2]))
    assert ir.count("call double @exp") == 1


def test_wrong_number_of_inputs() -> None:
    x = ca.SX.sym("x", 3)
    with pytest.raises(KernelError, match=r"'norm' takes 3 inputs, got an array of shape \(2,\)"):
        compile_kernel(ca.Function("norm", [x], [ca.norm_2(x)]))(np.zeros(2))


def test_mx_function_is_refused() -> None:
    x = ca.MX.sym("x")
    with pytest.raises(KernelError, match="'mixed': it is a MXFunction, not an SX function"):
        compile_kernel(ca.Function("mixed", [x], [x**2]))


def test_free_symbols_are_refused_by_name() -> None:
    x, stray = ca.SX.sym("x"), ca.SX.sym("stray")
    with pytest.raises(KernelError, match=r"'open'.*stray"):
        compile_kernel(ca.Function("open", [x], [x * stray], {"allow_free": True}))


def test_untranslatable_operations_are_named() -> None:
    x = ca.SX.sym("x")
    inner = ca.Function("inner", [x], [x * x], {"never_inline": True})
    with pytest.raises(KernelError, match="'outer': operation OP_CALL"):
        compile_kernel(ca.Function("outer", [x], [inner(x)]))
    with pytest.raises(KernelError, match="'loud': operation OP_PRINTME"):
        compile_kernel(ca.Function("loud", [x], [x.printme(x)]))


def test_missing_library_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would end the process."""
    monkeypatch.setitem(recipes.RECIPES, ca.OP_ERF, recipes._call("no_such_function"))
    x = ca.SX.sym("x")
    with pytest.raises(KernelError, match="no_such_function"):
        compile_kernel(ca.Function("f", [x], [ca.erf(x)]))


def test_equal_content_is_compiled_once_whatever_its_name() -> None:
    x = ca.SX.sym("x")
    first, second = (compile_kernel(ca.Function(name, [x], [ca.exp(x) / 7])) for name in ("first", "second"))
    assert first.address == second.address
    assert (first.name, second.name) == ("first", "second")


def kernels(directory: Path) -> module._Kernels:
    return module._Kernels(Store(KERNELS, directory), Store(KEYS, directory))


def evaluate(store: module._Kernels, function: ca.Function) -> bytes:
    code = store.code(function.serialize(), lambda: emit(function))
    address = code.get_function_address("stickslip_kernel")
    kernel = Kernel(function.name(), address, function.nnz_in(), function.nnz_out(), code)
    return kernel(np.linspace(-1.0, 1.0, kernel.n_in)).tobytes()


def test_second_start_loads_and_gives_the_same_bits(tmp_path: Path) -> None:
    function = random_function(7)
    fresh, again = kernels(tmp_path), kernels(tmp_path)
    assert evaluate(fresh, function) == evaluate(again, function) == evaluate(again, function)
    assert (fresh.compiled, fresh.store.loaded) == (1, 0)
    assert (again.compiled, again.store.loaded) == (0, 2)  # nobody held it in between
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".key", ".o"]


def test_what_is_on_the_disk_is_not_written_down_again(tmp_path: Path) -> None:
    """Unless the code that the key leads to is gone."""
    function, asked = random_function(7, length=20), []

    def write() -> str:
        asked.append(function)
        return emit(function)

    for _ in range(3):
        held = kernels(tmp_path).code(function.serialize(), write)
    assert (len(asked), held.get_function_address("stickslip_kernel") > 0) == (1, True)
    (file,) = tmp_path.glob("*.o")
    file.unlink()
    kernels(tmp_path).code(function.serialize(), write)
    assert (len(asked), file.exists()) == (2, True)


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    program = """if True:
        import sys, casadi as ca
        from stickslip.native import kernel
        x = ca.SX.sym("x", 3)
        k = kernel.compile_kernel(ca.Function("f", [x], [ca.sin(x) * ca.exp(x), ca.norm_2(x)]))
        made = kernel._LOADED
        print(made.compiled, made.store.loaded, "numba" in sys.modules, k([0.1, 0.2, 0.3]).tobytes().hex())
    """
    environment = {**os.environ, "STICKSLIP_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", program]
    first, second = (
        subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert first[:3] == ["1", "0", "False"]
    assert second[:3] == ["0", "1", "False"]
    assert first[3] == second[3]


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:100], lambda b: b[:-1] + bytes([b[-1] ^ 1])])
@pytest.mark.parametrize("kind", [KERNELS, KEYS])
def test_damaged_file_is_compiled_again(tmp_path: Path, damage, kind) -> None:
    function = random_function(8, length=20)
    expected = evaluate(kernels(tmp_path), function)
    (file,) = tmp_path.glob(f"*{kind}")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    store = kernels(tmp_path)
    assert evaluate(store, function) == expected
    assert (store.compiled, store.store.loaded) == ((1, 0) if kind == KERNELS else (0, 1))
    assert file.read_bytes() == whole


def test_no_place_for_the_cache_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    store = kernels(blocked / "below")
    assert evaluate(store, random_function(9, length=20))
    assert store.compiled == 1


@njit(cache=True)
def sweep(address, inputs, outputs, n, n_in, n_out):
    for k in range(n):
        call_kernel(address, inputs, k * n_in, outputs, 1 + k * n_out)


def test_call_from_a_compiled_loop() -> None:
    """Element by element into one array; what lies before and behind is not touched."""
    x = ca.SX.sym("x", 2)
    kernel = compile_kernel(ca.Function("f", [x], [ca.sin(x[0]) * x[1], x[0] - x[1], ca.hypot(x[0], x[1])]))
    inputs, outputs = np.random.default_rng(0).normal(size=8), np.full(14, 7.0)
    sweep(kernel.address, inputs, outputs, 4, 2, 3)
    assert_same_bits(outputs, np.concatenate([[7.0], *(kernel(pair) for pair in inputs.reshape(4, 2)), [7.0]]))


@pytest.mark.parametrize("outputs", [np.zeros(3, np.float32), np.zeros((3, 1)), np.zeros(6)[::2]])
def test_call_refuses_other_arrays(outputs: np.ndarray) -> None:
    with pytest.raises(TypingError, match="outputs must be a contiguous vector of float64"):
        sweep(0, np.zeros(3), outputs, 0, 1, 1)


def test_several_instances_at_once_have_the_same_bits() -> None:
    x = ca.SX.sym("x", 5)
    choice = ca.if_else(x[0] > x[1], x[2], -0.37 * x[3])
    values = [
        ca.sqrt(x[0] ** 2 + x[1]),
        ca.fmax(x[2], x[3]) / x[4],
        choice,
        0,
        1.5,
        ca.sign(x[0] - 0.7),
        ca.fmin(x[0], 0.6),
    ]
    expression = ca.densify(ca.vertcat(*values))
    function = ca.Function("several", [x], [expression, ca.jacobian(expression, x)])
    one = compile_kernel(function)
    several, rows = compile_kernel(function, one.n_out + 2), np.random.default_rng(0).uniform(0.5, 1, (LANES, 5))
    rows[0, 2] = np.nan
    inputs, outputs = np.ascontiguousarray(rows.T), np.full((LANES, one.n_out + 2), 7.0)
    SIGNATURE(several.address)(inputs.ctypes.data, outputs.ctypes.data)
    for row, found in zip(rows, outputs, strict=True):
        assert one(row).tobytes() == found[:-2].tobytes()
        assert (found[-2:] == 7.0).all()


def test_what_calls_libm_has_no_form_for_several_instances() -> None:
    x = ca.SX.sym("x")
    with pytest.raises(NarrowError, match="several instances"):
        compile_kernel(ca.Function("sine", [x], [ca.sin(x)]), 1)
