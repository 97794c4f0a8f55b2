"""Memory that is used again."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skbidag._workspace import SLAB, Workspace


@pytest.mark.parametrize("seed", range(5))
def test_no_two_arrays_share_memory(seed):
    rng = np.random.default_rng(seed)
    workspace, taken = Workspace(), {}
    for number in range(300):
        if taken and rng.random() < 0.45:
            number = int(rng.choice(list(taken)))
            array = taken.pop(number)
            assert np.all(array == number)
            workspace.give(array)
        shape = (1 << rng.integers(12), rng.integers(1, 60))
        array = workspace.take(shape)
        assert array.shape == shape
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
        taken[number] = array
        array.fill(number)
    for number, array in taken.items():
        assert np.all(array == number)


def test_memory_is_used_again():
    workspace = Workspace()
    large = workspace.take((4, SLAB))
    address = large.ctypes.data
    workspace.give(large)
    assert workspace.free_bytes == 32 * SLAB
    halves = [workspace.take((2, SLAB)) for _ in range(2)]
    assert {half.ctypes.data for half in halves} == {address, address + 16 * SLAB}
    assert workspace.free_bytes == 0
    # what was split is whole again, whatever is given back first
    for half in halves:
        workspace.give(half)
    assert workspace.take((4, SLAB)).ctypes.data == address


def test_small_arrays_share_a_slab():
    workspace = Workspace()
    arrays = [workspace.take((8,)) for _ in range(10)]
    assert workspace.free_bytes == 8 * (SLAB - 80)
    for array in arrays:
        workspace.give(array)
    assert workspace.free_bytes == 8 * SLAB


def test_free_slabs_make_room_for_larger_ones():
    workspace = Workspace()
    small = [workspace.take((SLAB,)) for _ in range(3)]
    for array in small[1:]:
        workspace.give(array)
    large = workspace.take((2 * SLAB,))
    # the two that were free are gone, the third is as it was
    assert workspace.free_bytes == 0
    workspace.give(small[0])
    workspace.give(large)
    assert workspace.free_bytes == 8 * 3 * SLAB


def test_arrays_from_elsewhere_are_left_alone():
    workspace = Workspace()
    workspace.give(np.zeros(100))
    workspace.give(Workspace().take((100,)))
    assert workspace.free_bytes == 0


def test_a_copy_starts_empty():
    workspace = Workspace()
    workspace.give(workspace.take((100,)))
    assert pickle.loads(pickle.dumps(workspace)).free_bytes == 0


def test_threads():
    workspace = Workspace()

    def work(number):
        for _ in range(200):
            array = workspace.take((10 + number, 7))
            array.fill(number)
            assert np.all(array == number)
            workspace.give(array)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert workspace.free_bytes == 8 * SLAB * len(workspace._slabs)
