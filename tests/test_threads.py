"""Rescues take one thread of BLAS and leave the number of threads as it was."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 its threads count
from threadpoolctl import threadpool_info, threadpool_limits

import hard_cases
import stickslip as ss
from stickslip.threads import one_thread


def threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == {2}


def test_runs_in_many_threads_restore_it_too():
    first_is_in, second_is_in = threading.Event(), threading.Event()

    def second():
        first_is_in.wait()
        with one_thread():
            second_is_in.set()
            left.wait()

    left = threading.Event()
    other = threading.Thread(target=second)
    other.start()
    with one_thread():
        first_is_in.set()
        second_is_in.wait()
    left.set()
    other.join()
    assert threads() == {2}


def test_bits_do_not_depend_on_the_number_of_threads():
    boxes, runs = hard_cases.stack(6, e=0.5, seed=1, space=True), []
    for number in (1, 2):
        with threadpool_limits(number, user_api="blas"):
            runs.append(ss.solve(boxes, 0.06, 2e-3, method="moreau"))
    assert set(runs[0].stats.solved_by) != {"newton"}
    assert np.array_equal(runs[0].q, runs[1].q)
    assert threads() == {2}
