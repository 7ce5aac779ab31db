"""What the wheel holds, and that what it holds works where nothing else is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lithify
from lithify.prompt_files import carry
from lithify.prompt_files.fetch import FetchFailed
from lithify.prompt_files.pins import kimi_pin, sha256_of, templates_dir
from lithify.prompt_files.templates import find_conversation_prompt

pytestmark = pytest.mark.timeout(300)

REPOSITORY = Path(__file__).resolve().parents[2]
METADATA = f"lithify-{lithify.__version__}.dist-info"
EXACT_FILES = {"LICENSE", "NOTICE", "compact.md", "instruction_intro.txt", "source.json", "system_prompt.txt"}
FIND_PROMPT = """
import dataclasses, json, pathlib, sys
from lithify.prompt_files.pins import templates_dir
from lithify.prompt_files.templates import find_conversation_prompt
found = find_conversation_prompt(pathlib.Path(sys.argv[1]))
print(json.dumps({"templates": str(templates_dir()), **dataclasses.asdict(found)}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in an environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, REPOSITORY)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def content(wheel: Path) -> dict[str, bytes]:
    """Each file of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with the wheel in it, and no other package at all."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    return python


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def find_prompt(python: Path, prompts_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(python, "-I", "-c", FIND_PROMPT, prompts_dir, PATH=os.devnull))
    return found


def files_below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


# What it holds


def test_the_wheel_holds_the_package_and_its_metadata_alone(content: dict[str, bytes]) -> None:
    assert {name.partition("/")[0] for name in content} == {"lithify", METADATA}


def test_the_package_holds_its_modules_and_no_other_file(content: dict[str, bytes]) -> None:
    held = {name.removeprefix("lithify/") for name in content if name.startswith("lithify/")}
    modules = {name for name in held if not name.startswith("_prompts/")}
    assert modules == files_below(REPOSITORY / "server" / "lithify")


def test_the_wheel_holds_no_test(content: dict[str, bytes]) -> None:
    assert not [name for name in content if any(part.startswith("test") for part in name.split("/"))]


def test_the_wheel_holds_lithifys_templates_and_the_exact_prompt(content: dict[str, bytes]) -> None:
    held = {name.removeprefix("lithify/_prompts/") for name in content if name.startswith("lithify/_prompts/")}
    exact = {f"{kimi_pin().folder_name}/{name}" for name in EXACT_FILES}
    assert held == files_below(REPOSITORY / "prompts") | exact


@pytest.mark.parametrize("name", ["conversation.md", "sources.toml"])
def test_a_template_is_in_the_wheel_as_it_is_in_the_repository(content: dict[str, bytes], name: str) -> None:
    assert content[f"lithify/_prompts/{name}"] == (templates_dir() / name).read_bytes()


def test_the_exact_prompt_in_the_wheel_has_the_pinned_digest(content: dict[str, bytes]) -> None:
    pin = kimi_pin()
    assert sha256_of(content[f"lithify/_prompts/{pin.folder_name}/compact.md"]) == pin.template.sha256


def test_the_exact_prompt_in_the_wheel_comes_with_its_whole_licence(content: dict[str, bytes]) -> None:
    licence = content[f"lithify/_prompts/{kimi_pin().folder_name}/LICENSE"]
    assert licence == (templates_dir() / "LICENSE-Apache-2.0.txt").read_bytes()


def test_the_metadata_holds_lithifys_own_licence(content: dict[str, bytes]) -> None:
    assert content[f"{METADATA}/licenses/LICENSE"] == (REPOSITORY / "LICENSE").read_bytes()


def test_the_metadata_names_the_licence_file(content: dict[str, bytes]) -> None:
    assert "License-File: LICENSE" in content[f"{METADATA}/METADATA"].decode().splitlines()


def test_the_package_says_that_it_is_typed(content: dict[str, bytes]) -> None:
    assert "lithify/py.typed" in content


# How it works, installed alone


def test_the_installed_wheel_reads_the_templates_it_carries(environment: Path, tmp_path: Path) -> None:
    templates = Path(find_prompt(environment, tmp_path)["templates"])
    assert templates.is_relative_to(environment.parents[1].resolve())


def test_the_installed_wheel_uses_the_exact_prompt_it_carries(environment: Path, tmp_path: Path) -> None:
    found = find_prompt(environment, tmp_path)
    assert (found["source"], found["exact"], found["problem"]) == (kimi_pin().label, True, None)


def test_the_installed_wheel_finds_the_same_texts_as_an_editable_install(environment: Path, tmp_path: Path) -> None:
    (tmp_path / kimi_pin().folder_name).symlink_to(
        Path(find_prompt(environment, tmp_path)["templates"]) / kimi_pin().folder_name
    )
    here, there = find_conversation_prompt(tmp_path), find_prompt(environment, tmp_path / "empty")
    assert (here.text, here.system_prompt, here.instruction_intro) == (
        there["text"],
        there["system_prompt"],
        there["instruction_intro"],
    )


def test_a_damaged_copy_in_the_users_folder_gives_way_to_the_one_in_the_wheel(
    environment: Path, tmp_path: Path
) -> None:
    (tmp_path / kimi_pin().folder_name).mkdir()
    found = find_prompt(environment, tmp_path)
    assert (found["exact"], "lithify prompts fetch" in found["problem"]) == (True, True)


# The build hook


class App:
    """What hatchling gives a hook to speak with."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook, loaded without hatchling."""
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("build_hooks", REPOSITORY / "build_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook = module.CustomBuildHook()
    hook.root, hook.app = str(REPOSITORY), App()
    return hook


def initialized(hook: Any, version: str) -> dict[str, str]:
    """What the hook adds to the wheel."""
    build_data: dict[str, Any] = {"force_include": {}}
    hook.initialize(version, build_data)
    hook.finalize(version, build_data, "lithify.whl")
    included: dict[str, str] = build_data["force_include"]
    return included


def test_a_wheel_is_built_without_the_exact_prompt_where_it_cannot_be_had(
    hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry, "prompt_to_carry", lambda *_: FetchFailed("download", "No network; find one."))
    assert initialized(hook, "standard") == {}


def test_a_build_without_the_exact_prompt_warns_in_one_line(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry, "prompt_to_carry", lambda *_: FetchFailed("download", "No network; find one."))
    initialized(hook, "standard")
    assert hook.app.warnings == ["This wheel is built without the exact kimi-cli prompt. No network; find one."]


def test_a_full_disk_does_not_stop_a_build(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(carry, "prompt_to_carry", full)
    assert initialized(hook, "standard") == {}


def test_an_editable_install_fetches_nothing(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(carry, "prompt_to_carry", lambda *places: asked.extend(places))
    assert (initialized(hook, "editable"), asked) == ({}, [])
