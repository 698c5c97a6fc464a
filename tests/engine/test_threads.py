"""One thread for linear algebra, whichever thread asks for it."""

import threading

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from quatcast.engine.threads import one_thread


def numbers():
    return {pool.get_num_threads() for pool in ThreadpoolController().select(user_api="blas").lib_controllers}


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def two():
    with threadpool_limits(2, user_api="blas"):
        if numbers() != {2}:
            pytest.skip("needs a BLAS with threads")
        yield


def test_one_thread_and_then_as_before():
    with one_thread():
        assert numbers() == {1}
        with one_thread():
            assert numbers() == {1}
        assert numbers() == {1}
    assert numbers() == {2}


def test_also_in_another_thread_than_the_first():
    with one_thread():
        pass
    found = []

    def work():
        with one_thread():
            found.append(numbers())
        found.append(numbers())

    in_thread(work).join()
    assert found == [{1}, {2}]


def test_the_last_of_several_threads_restores_the_number():
    inside, leave, found = threading.Event(), threading.Event(), []

    def work():
        with one_thread():
            inside.set()
            leave.wait(10)
            found.append(numbers())

    with one_thread():
        thread = in_thread(work)
        assert inside.wait(10)
    assert numbers() == {1}
    leave.set()
    thread.join()
    assert found == [{1}]
    assert numbers() == {2}
