"""What scores keep of what was asked for."""

import pickle

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from skbidag.scores import BDe
from skbidag.scores._memory import Memory


def test_memory_starts_anew_when_it_is_full():
    memory = Memory(most_bytes=40)
    calls = []

    def recall(key):
        return memory.recall(key, lambda: calls.append(key) or np.full(2, float(key)))

    for key in (1, 2, 1, 3, 1):  # two fit in; with the third, the first is forgotten
        assert_array_equal(recall(key), [key, key])
    assert calls == [1, 2, 3, 1]
    recall(3)[:] = 0.0  # a copy
    assert_array_equal(recall(3), [3.0, 3.0])
    assert_array_equal(
        pickle.loads(pickle.dumps(memory)).recall(3, lambda: np.zeros(1)), [0.0]
    )


def test_additions_are_the_same_whoever_asked_before():
    X = np.random.default_rng(0).integers(0, 3, (60, 6))
    score = BDe().fit(X)
    asked = score.addition_scores(0, [4, 2])
    other = BDe().fit(X)
    assert_array_equal(other.addition_scores(0, [2, 4]), asked)
    asked[:] = 0.0
    assert_array_equal(
        score.addition_scores(0, [2, 4]), other.addition_scores(0, [4, 2])
    )
    # another prior counts at once
    score.log_prior_odds_ += 1.0
    rest = [1, 3, 4, 5]
    expected = other.addition_scores(0, [2])[rest] + 2.0
    assert_allclose(score.addition_scores(0, [2])[rest], expected, rtol=1e-10)
