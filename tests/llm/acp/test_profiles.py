"""The agents that Lithify knows: how each is found, prepared, tidied and looked at, without any agent."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithify.llm.acp.profile import Launch, Profile, Run
from lithify.llm.acp.profiles import PROFILES, claude_code, find_profile, gemini, kimi_code, kiro, opencode
from lithify.llm.acp.profiles.user_files import read_object, without_comments

SYSTEM_PROMPT = 'You compact "conversations".\nKeep <all> that matters: $x, {y}, --- and Ünicode.'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's home folder."""
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


@pytest.fixture
def run(tmp_path: Path, home: Path) -> Run:
    """A run whose folders are there and empty."""
    (tmp_path / "run" / "home").mkdir(parents=True)
    (tmp_path / "run" / "work").mkdir()
    return Run(
        purpose="conversation",
        system_prompt=SYSTEM_PROMPT,
        command=("agent", "acp"),
        model=None,
        home=tmp_path / "run" / "home",
        work=tmp_path / "run" / "work",
        environment={"HOME": str(home)},
        user_environment={"HOME": str(home)},
    )


def write(path: Path, content: Any) -> Path:
    """A file of the user's; what is no text is written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def everything_below(folder: Path) -> str:
    """The texts of all files of a run, links followed."""
    return "\n".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def unlike(files: Mapping[str, str], folder: Path) -> list[str]:
    """The files of a folder that are not as they were."""
    now = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    return sorted(name for name in {*files, *now} if files.get(name) != now.get(name))


# --- all of them ---


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_profile_is_found_by_its_name_and_by_its_own_command(profile: Profile) -> None:
    assert find_profile(profile.name, ()) is profile
    assert find_profile(None, profile.command) is profile


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["/opt/bin/kimi", "acp"], "kimi-code"),
        (["npx", "@zed-industries/claude-code-acp"], "claude-code"),
        (["npx", "-y", "@agentclientprotocol/claude-agent-acp"], "claude-code"),
        (["node", "/opt/node_modules/.bin/claude-agent-acp.js"], "claude-code"),
        (["opencode.exe", "acp"], "opencode"),
        (["kiro-cli-chat", "acp", "--agent", "mine"], "kiro"),
        (["gemini", "--acp"], "gemini"),
        (["my-agent", "--name", "x", "kimi"], "generic"),
    ],
)
def test_a_command_without_a_profile_is_known_by_its_program(command: list[str], name: str) -> None:
    found = find_profile(None, command)
    assert found is not None
    assert found.name == name


def test_an_unknown_name_is_no_profile() -> None:
    assert find_profile("copilot", ["kimi"]) is None


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_preparing_writes_below_the_runs_home_only(profile: Profile, run: Run, home: Path, tmp_path: Path) -> None:
    kiro.write_agent_files(home)
    before = {path.relative_to(home).as_posix(): path.read_text() for path in home.rglob("*") if path.is_file()}
    profile.prepare(run)
    profile.tidy(run)
    assert unlike(before, home) == []
    assert list(run.work.iterdir()) == []


@pytest.mark.parametrize(
    ("profile", "file"),
    [
        (claude_code.PROFILE, ".claude/settings.json"),
        (kimi_code.PROFILE, ".kimi-code/config.toml"),
        (opencode.PROFILE, ".config/opencode/opencode.json"),
        (gemini.PROFILE, ".gemini/settings.json"),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_settings_that_cannot_be_read_are_named(profile: Profile, file: str, run: Run, home: Path) -> None:
    path = write(home / file, "{ broken")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        profile.prepare(run)


@pytest.mark.parametrize(
    "profile", [claude_code.PROFILE, kimi_code.PROFILE, opencode.PROFILE, gemini.PROFILE], ids=lambda one: one.name
)
def test_without_login_and_key_the_way_to_both_is_told(profile: Profile, home: Path) -> None:
    (finding,) = profile.look({"HOME": str(home)})
    assert not finding.ok
    assert finding.next_step is not None
    assert "log" in finding.next_step
    assert f"set one of {', '.join(profile.keys)} and name it in model.acp.env" in finding.next_step


@pytest.mark.parametrize(
    "profile", [claude_code.PROFILE, kimi_code.PROFILE, opencode.PROFILE, gemini.PROFILE], ids=lambda one: one.name
)
def test_a_key_in_the_environment_is_named_with_what_passes_it_on(profile: Profile, home: Path) -> None:
    (finding,) = profile.look({"HOME": str(home), profile.keys[0]: "secret-value"})
    assert finding.ok
    assert f"{profile.keys[0]} is set here" in finding.text
    assert "model.acp.env" in finding.text
    assert "secret-value" not in finding.text


@pytest.mark.parametrize(
    ("profile", "login"),
    [
        (claude_code.PROFILE, ".claude/.credentials.json"),
        (kimi_code.PROFILE, ".kimi-code/credentials/kimi-code.json"),
        (opencode.PROFILE, ".local/share/opencode/auth.json"),
        (gemini.PROFILE, ".gemini/oauth_creds.json"),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_a_login_is_seen(profile: Profile, login: str, home: Path) -> None:
    write(home / login, {"access_token": "x"})
    (finding,) = profile.look({"HOME": str(home)})
    assert (finding.ok, finding.text) == (True, "logged in")


# --- kimi-code ---


def kimi_config(run: Run) -> dict[str, Any]:
    kimi_code.prepare(run)
    return tomllib.loads((run.home / "config.toml").read_text())


def test_kimi_code_gets_our_prompt_as_an_agent_without_tools(run: Run) -> None:
    launch = kimi_code.prepare(run)
    text = (run.home / "agents" / "agent.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert body.strip() == SYSTEM_PROMPT
    assert {"name: agent", "override: true", "tools: []", "subagents: []"} <= set(head.splitlines())
    assert (launch.system_prompt, launch.environment["KIMI_CODE_HOME"]) == ("profile", str(run.home))


def test_kimi_code_is_never_given_a_prompt_that_it_would_fill_in(run: Run) -> None:
    launch = kimi_code.prepare(replace(run, system_prompt="Work in ${cwd}."))
    assert launch.system_prompt == "before_text"
    assert "${" not in (run.home / "agents" / "agent.md").read_text()


def test_kimi_code_gets_the_users_models_and_nothing_else_of_the_settings(run: Run, home: Path) -> None:
    own = """
        default_model = "a/b"
        default_permission_mode = "yolo"
        extra_skill_dirs = ["/skills"]
        [models."a/b"]
        provider = 'own "one"'
        max_context_size = 200_000
        capabilities = ["thinking", "image"]
        [providers.'own "one"']
        type = "openai"
        api_key = "ключ\\n\\u0001"
        custom_headers = { "X-One" = "1", on = true, since = 2026-01-01, share = 0.5 }
        [[hooks]]
        event = "Stop"
        command = "notify"
    """
    write(home / ".kimi-code" / "config.toml", own)
    given, kept = tomllib.loads(own), kimi_config(run)
    assert {name: kept[name] for name in ("default_model", "models", "providers")} == {
        name: given[name] for name in ("default_model", "models", "providers")
    }
    assert set(kept) == {"default_model", "models", "providers", "telemetry", "auto_session_title"}


def test_kimi_code_renews_the_users_own_login(run: Run, home: Path) -> None:
    login = write(home / ".kimi-code" / "credentials" / "kimi-code.json", {"refresh_token": "old"})
    kimi_code.prepare(run)
    write(run.home / "credentials" / "kimi-code.json", {"refresh_token": "new"})
    assert json.loads(login.read_text()) == {"refresh_token": "new"}


def test_kimi_code_finds_a_home_that_a_variable_names(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "config.toml", 'default_model = "far"')
    environment = {**run.user_environment, "KIMI_CODE_HOME": str(tmp_path / "elsewhere")}
    assert kimi_config(replace(run, user_environment=environment))["default_model"] == "far"


def test_the_older_program_of_the_same_name_is_told_apart(home: Path) -> None:
    (home / ".kimi").mkdir()
    (finding,) = kimi_code.look({"HOME": str(home)})
    assert not finding.ok
    assert "generic" in (finding.next_step or "")


# --- Claude Code ---


def claude_options(launch: Launch) -> dict[str, Any]:
    options: dict[str, Any] = launch.session_meta["claudeCode"]["options"]
    return options


def test_claude_code_gets_our_prompt_and_no_tools(run: Run) -> None:
    launch = claude_code.prepare(run)
    assert (launch.system_prompt, launch.session_meta["systemPrompt"]) == ("profile", SYSTEM_PROMPT)
    assert launch.session_meta["disableBuiltInTools"] is True
    options = claude_options(launch)
    assert (options["tools"], options["settingSources"], options["persistSession"]) == ([], [], False)


def test_claude_code_reads_no_file_that_a_text_mentions(run: Run) -> None:
    assert claude_code.prepare(run).environment["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1"


def test_claude_code_gets_the_users_way_to_the_model_and_no_hooks(run: Run, home: Path) -> None:
    own = {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, "apiKeyHelper": "key", "hooks": {"Stop": []}}
    write(home / ".claude" / "settings.json", own)
    settings = Path(claude_options(claude_code.prepare(run))["extraArgs"]["settings"])
    assert json.loads(settings.read_text()) == {"env": own["env"], "apiKeyHelper": "key"}


@pytest.mark.parametrize(
    ("asked", "given"),
    [(None, None), ("opus", "opus"), ("claude-opus-4-1", "claude-opus-4-1"), ("claude-haiku-4.5", "haiku")],
)
def test_claude_code_is_given_models_in_its_own_spelling_only(asked: str | None, given: str | None, run: Run) -> None:
    assert claude_options(claude_code.prepare(replace(run, model=asked))).get("model") == given


SESSION = "01234567-89ab-cdef-0123-456789abcdef"


def test_claude_code_is_tidied_of_this_run_only(run: Run, home: Path) -> None:
    folder = home / ".claude"
    ours = write(folder / "projects" / claude_code.project_name(run.work) / "s.jsonl", "{}")
    theirs = write(folder / "projects" / "-home-me-project" / "s.jsonl", "{}")
    claude_code.tidy(run)
    assert (ours.parent.exists(), theirs.exists()) == (False, True)


@pytest.mark.parametrize(
    ("content", "has_transcript", "stays"), [("[]", False, False), ("[]", True, True), ('[{"a": 1}]', False, True)]
)
def test_only_an_empty_list_of_a_session_without_transcript_is_removed(
    content: str, has_transcript: bool, stays: bool, run: Run, home: Path
) -> None:
    todos = write(home / ".claude" / "todos" / f"{SESSION}-agent-{SESSION}.json", content)
    if has_transcript:
        write(home / ".claude" / "projects" / "-home-me" / f"{SESSION}.jsonl", "{}")
    claude_code.tidy(run)
    assert todos.exists() is stays


# --- opencode ---


def opencode_file(run: Run, name: str) -> Any:
    opencode.prepare(run)
    return json.loads((run.home / "config" / "opencode" / name).read_text())


def test_opencode_gets_our_prompt_as_an_agent_that_may_nothing(run: Run) -> None:
    settings = opencode_file(run, "opencode.json")
    agent = settings["agent"][settings["default_agent"]]
    assert (agent["prompt"], agent["permission"]) == (SYSTEM_PROMPT, {"*": "deny"})
    assert (settings["share"], settings["autoupdate"]) == ("disabled", False)


def test_opencode_asks_for_no_title(run: Run) -> None:
    assert opencode_file(run, "opencode.json")["agent"]["title"] == {"disable": True}


def test_opencode_takes_a_reference_in_our_prompt_as_text(run: Run) -> None:
    text = opencode.agent_settings("Keep {env:HOME} and {file:~/.netrc}.")
    assert not re.search(r"\{(env|file):", text)
    assert json.loads(text)["agent"]["lithify"]["prompt"] == "Keep {env:HOME} and {file:~/.netrc}."


def test_opencode_gets_the_users_providers_and_nothing_else(run: Run, home: Path) -> None:
    folder = home / ".config" / "opencode"
    write(
        folder / "opencode.json", {"provider": {"a": {"options": {"baseURL": "x"}}}, "mcp": {"m": {}}, "plugin": ["p"]}
    )
    write(
        folder / "opencode.jsonc",
        """{
            // "model": "no/comment",
            "model": "a/b", /* the one */
            "provider": {"a": {"options": {"apiKey": "{file:./key}"}, "name": "// no comment"}},
        }""",
    )
    key = (folder / "key").as_posix()
    assert opencode_file(run, "config.json") == {
        "model": "a/b",
        "provider": {"a": {"options": {"baseURL": "x", "apiKey": f"{{file:{key}}}"}, "name": "// no comment"}},
    }


def test_opencode_keeps_its_sessions_in_the_runs_folder(run: Run) -> None:
    environment = opencode.prepare(run).environment
    assert Path(environment["OPENCODE_DB"]).parent == run.home
    assert Path(environment["XDG_CONFIG_HOME"]).parent == run.home


# --- Gemini CLI ---


def test_gemini_gets_our_prompt_as_a_file_and_the_users_way_to_log_in(run: Run, home: Path) -> None:
    own = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "mcpServers": {"m": {"command": "x"}}}
    write(home / ".gemini" / "settings.json", own)
    write(home / ".gemini" / "oauth_creds.json", {"refresh_token": "r"})
    launch = gemini.prepare(run)
    settings = json.loads((run.home / ".gemini" / "settings.json").read_text())
    assert Path(launch.environment["GEMINI_SYSTEM_MD"]).read_text() == SYSTEM_PROMPT
    assert (settings["security"], "mcpServers" in settings) == (own["security"], False)
    assert (run.home / ".gemini" / "oauth_creds.json").read_text() == '{"refresh_token": "r"}'


@pytest.mark.parametrize(("asked", "settled"), [("gemini-2.5-pro", True), ("claude-haiku-4.5", False), (None, False)])
def test_gemini_is_given_its_own_models_only(asked: str | None, settled: bool, run: Run) -> None:
    launch = gemini.prepare(replace(run, model=asked))
    assert (launch.model_settled, "--model" in launch.command) == (settled, settled)


# --- Kiro ---


def test_kiros_agents_have_the_pinned_model_and_no_tools() -> None:
    files = kiro.agent_files("claude-haiku-4.5")
    assert set(files) == {
        Path(".kiro/agents/lithify-compactor.json"),
        Path(".kiro/agents/lithify-extractor.json"),
    }
    for path, text in files.items():
        agent = json.loads(text)
        assert (agent["name"], agent["model"]) == (path.stem, "claude-haiku-4.5")
        assert (agent["tools"], agent["mcpServers"], agent["includeMcpJson"]) == ([], {}, False)
        assert (agent["resources"], agent["hooks"]) == ([], {})


@pytest.mark.parametrize(
    ("purpose", "name"),
    [("conversation", "lithify-compactor"), ("buffer", "lithify-compactor"), ("extraction", "lithify-extractor")],
)
def test_kiro_is_started_with_the_agent_for_the_purpose(purpose: Any, name: str, run: Run, home: Path) -> None:
    kiro.write_agent_files(home)
    launch = kiro.prepare(replace(run, purpose=purpose, command=("kiro-cli", "acp")))
    assert launch.command == ("kiro-cli", "acp", "--agent", name)
    assert launch.system_prompt == "before_text"


def test_kiro_without_its_agent_files_names_the_command_that_writes_them(run: Run) -> None:
    with pytest.raises(ValueError, match="lithify agents setup kiro"):
        kiro.prepare(run)


def test_an_agent_of_the_users_own_choice_is_kept(run: Run) -> None:
    command = ("kiro-cli", "acp", "--agent", "mine")
    assert kiro.prepare(replace(run, command=command)).command == command


def test_agent_files_are_written_once(home: Path) -> None:
    first, second = kiro.write_agent_files(home), kiro.write_agent_files(home)
    assert [(one.found, one.written) for one in first] == [("missing", True)] * 2
    assert [(one.found, one.written) for one in second] == [("same", False)] * 2


def test_an_agent_file_that_the_user_changed_is_kept_until_forced(home: Path) -> None:
    changed = kiro.write_agent_files(home)[0].path
    changed.write_text('{"name": "mine"}')
    kept = kiro.write_agent_files(home)
    assert (kept[0].found, kept[0].written, changed.read_text()) == ("changed", False, '{"name": "mine"}')
    forced = kiro.write_agent_files(home, force=True)
    assert (forced[0].found, forced[0].written) == ("changed", True)
    assert json.loads(changed.read_text())["name"] == "lithify-compactor"


def test_looking_tells_agent_files_that_are_missing_or_changed(home: Path) -> None:
    environment = {"HOME": str(home)}
    assert [one.ok for one in kiro.look(environment)] == [False, False]
    paths = [one.path for one in kiro.write_agent_files(home, "some-model")]
    assert [(one.ok, "some-model" in one.text) for one in kiro.look(environment)] == [(True, True)] * 2
    paths[1].write_text('{"tools": ["*"]}')
    assert [one.ok for one in kiro.look(environment)] == [True, False]


def test_kiro_is_tidied_of_the_runs_session_only(run: Run, home: Path) -> None:
    folder = home / ".kiro" / "sessions" / "cli"
    ours = [write(folder / "one.json", {"cwd": str(run.work)}), write(folder / "one.jsonl", "{}")]
    theirs = [write(folder / "two.json", {"cwd": str(home)}), write(folder / "odd.json", "[broken")]
    kiro.tidy(run)
    assert [path.exists() for path in (*ours, *theirs)] == [False, False, True, True]


# --- the user's files ---


def test_comments_and_last_commas_are_no_part_of_settings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '\ufeff{"a": "/* \\" // */", // one\n "b": [1, 2,], /* two\n */ }')
    assert read_object(path) == {"a": '/* " // */', "b": [1, 2]}


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert read_object(tmp_path / "none.json") == {}


def test_a_comma_in_a_text_stays() -> None:
    assert without_comments('{"a": ",}"}') == '{"a": ",}"}'
