"""The plugin of pytest: the fixture `pi_rpc`, and the judgement at the end of each test that uses it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import pytest

from .judgement import BrokenRulesError
from .servers import Servers

KEY = pytest.StashKey[Servers]()


@pytest.fixture
def pi_rpc(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Servers for the test. What both sides wrote is judged when it ends, and a broken rule fails it."""
    servers = Servers(tmp_path_factory.mktemp("pi-rpc"))
    request.node.stash[KEY] = servers
    yield servers
    servers.close()
    _judge(servers.judge)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judges a conversation that has ended with the test's function, so that the test itself fails."""
    servers = item.stash.get(KEY, None)
    try:
        result = yield
    except BaseException:
        if servers is not None:
            servers.close()
            try:
                servers.judge_ended()
            except BrokenRulesError as error:
                item.add_report_section("call", "pi-rpc", str(error))
        raise
    if servers is not None:
        servers.close()
        _judge(servers.judge_ended)
    return result


def _judge(judge: Callable[[], None]) -> None:
    """Fails the test with the judgement alone: no line of this package is of use there."""
    try:
        judge()
    except BrokenRulesError as error:
        failure = str(error)
    else:
        return
    pytest.fail(failure, pytrace=False)
