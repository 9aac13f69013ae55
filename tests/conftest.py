"""Which tests run, and in which order."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, and no others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests run on their own. Dask leaves threads behind, and the kill engine must be the
    only thread of its process (it is told of its children by a signal, which another thread would
    swallow): Dask comes last."""
    slow = config.getoption("--slow")
    left_out = [item for item in items if bool(item.get_closest_marker("slow")) != slow]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: "test_dask" in item.nodeid)
