"""What holds for all tests."""

import os
from pathlib import Path

import pytest

import skbidag


@pytest.fixture(autouse=True, scope="session")
def one_package():
    """Let processes that tests start import the package that the tests import."""
    with pytest.MonkeyPatch.context() as patch:
        home = str(Path(skbidag.__file__).parents[1])
        patch.setenv("PYTHONPATH", home, prepend=os.pathsep)
        yield
