"""What `lithify doctor` looks at among the models: those built in, the agents on this machine, and their live runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from lithify.cli.doctor_report import Check
from lithify.cli.model_settings import BadSettings, models_of, read_settings_file
from lithify.llm.acp.model import AcpModel
from lithify.llm.acp.profile import Profile
from lithify.llm.acp.profiles import PROFILES
from lithify.llm.acp.runs import LiveRun, live_runs
from lithify.llm.http.model import HttpModel
from lithify.llm.offline import OfflineModel

if TYPE_CHECKING:
    from lithify.cli.model_settings import CommandLineModel


def look_at_models(settings_file: str | None, environment: Mapping[str, str]) -> Iterator[Check]:
    """The models that this version can ask, the configured one first where settings are given."""
    if settings_file is not None:
        yield _configured(settings_file)
    yield Check("Offline model", "ok", "built in; needs no key and no network, selects and shortens what was said")
    yield Check("Editor's model", "note", "used inside an editor that offers one to Lithify; cannot be seen from here")
    for profile in PROFILES:
        if profile.command:
            yield from _agent(profile, environment)


def look_at_runs(environment: Mapping[str, str]) -> Iterator[Check]:
    """The agents that Lithify's servers have at work now."""
    runs = live_runs(environment)
    if not runs:
        yield Check("Agents at work", "ok", "none", None, {"runs": []})
    for run in runs:
        mark, text, step = _run(run)
        details = {"agent": run.agent, "agentPid": run.agent_pid, "serverPid": run.server_pid}
        yield Check("Agents at work", "ok" if mark else "attention", text, step, {"runs": [details]})


def _configured(path: str) -> Check:
    name = "Configured model"
    try:
        models = models_of(read_settings_file(path))
    except BadSettings as error:
        return Check(name, "fails", str(error), "correct the settings")
    details = {"providers": [one.name for one in models]}
    tried = ", else ".join(map(_told, models))
    lacking = [lack.message for one in models if not isinstance(one, OfflineModel) and (lack := one.lack()) is not None]
    if len(lacking) == len(models):
        return Check(name, "fails", f"{tried}: {'; '.join(lacking)}", "correct the settings", details)
    unset = [name for one in models if isinstance(one, AcpModel) for name in one.unset_names]
    lacking += [f"{one}, which model.acp.env names, is not set here" for one in unset]
    if lacking:
        return Check(name, "attention", f"{tried}: {'; '.join(lacking)}", "correct the settings", details)
    asked = "" if isinstance(models[0], OfflineModel) else "; it was not asked"
    return Check(name, "ok", f"{tried}{asked}", None, details)


def _told(model: CommandLineModel) -> str:
    """A model in words: whose it is, and which."""
    match model:
        case OfflineModel():
            return "the offline model"
        case AcpModel():
            return f"agent {model.agent} ({' '.join(model.command)})"
        case HttpModel():
            named = f", model {model.default_model}" if model.default_model else ""
            return f"endpoint {model.host or 'of no address'}{named}"


def _agent(profile: Profile, environment: Mapping[str, str]) -> Iterator[Check]:
    name = f"Agent {profile.name}"
    program = profile.command[0]
    found = shutil.which(program, path=environment.get("PATH"))
    details = {"profile": profile.name, "command": list(profile.command), "path": found}
    if found is None:
        yield Check(name, "note", f"'{program}' is not on PATH; to have it, {_as_step(profile.install)}", None, details)
        return
    findings = list(profile.look(environment))
    missing = [one for one in findings if not one.ok]
    text = "; ".join([f"'{' '.join(profile.command)}' ({found})", *(one.text for one in findings)])
    steps = [one.next_step for one in missing if one.next_step]
    yield Check(name, "attention" if missing else "ok", text, "; ".join(steps) or None, details)


def _as_step(sentence: str) -> str:
    """A sentence as it stands within another."""
    return (sentence[:1].lower() + sentence[1:]).removesuffix(".")


def _run(run: LiveRun) -> tuple[bool, str, str | None]:
    since = (
        ""
        if run.started_at is None
        else datetime.fromtimestamp(run.started_at).astimezone().strftime(" since %H:%M:%S")
    )
    whose = f"for the server {run.server_pid}" if run.server_pid is not None else "just starting"
    text = f"{run.agent or 'an agent'}, process {run.agent_pid or 'not yet known'}{since}, {whose}"
    if run.server_alive or run.server_pid is None:
        return True, text, None
    step = f"it ends by itself within seconds; if it does not, end process {run.launcher_pid}"
    return False, f"{text}, which is gone", step
