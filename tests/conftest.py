"""The order of the tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Dask leaves threads behind, and the kill engine must be the only thread of its process (it
    is told of its children by a signal, which another thread would swallow): Dask comes last."""
    items.sort(key=lambda item: "test_dask" in item.nodeid)
