"""Finding and killing what is left of an agent without a launcher."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lithify.llm.acp.leftovers import is_leader_since, kill_group, kill_marked

FOREVER = [sys.executable, "-S", "-c", "import time; time.sleep(300)"]


@contextmanager
def process(*, own_session: bool = True, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(FOREVER, start_new_session=own_session, env={**os.environ, **environment}) as started:
        try:
            yield started
        finally:
            started.kill()


def test_a_process_is_the_agent_when_it_leads_its_group_and_started_then() -> None:
    with process() as agent, process(own_session=False) as other:
        now = time.time()
        assert is_leader_since(agent.pid, now)
        assert not is_leader_since(agent.pid, now - 3600)
        assert not is_leader_since(other.pid, now)
        agent.kill()
        agent.wait()
        assert not is_leader_since(agent.pid, now)


def test_a_group_is_killed_and_its_absence_is_no_error() -> None:
    with process() as agent:
        kill_group(agent.pid)
        assert agent.wait(timeout=10) == -signal.SIGKILL
    kill_group(agent.pid)


def test_only_what_bears_the_mark_of_the_run_is_killed() -> None:
    name = f"lithify-agent-{os.getpid():016x}"
    with process(LITHIFY_AGENT_RUN=name) as marked, process(LITHIFY_AGENT_RUN=name + "0") as other:
        assert kill_marked(name)
        assert marked.wait(timeout=10) == -signal.SIGKILL
        assert other.poll() is None
        assert not kill_marked(name)
