"""Which project a path belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lithify.core.outcomes import LithifyError
from lithify.core.projects import Project
from lithify.storage.projects import MARKERS, find_project, path_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "home" / "ann"
    folder.mkdir(parents=True)
    return folder


def project(path: Path | str, home: Path, *workspace: Path) -> Project:
    return find_project(str(path), [str(one) for one in workspace], str(home))


def root(path: Path | str, home: Path, *workspace: Path) -> str:
    return project(path, home, *workspace).root


def made(*parts: Path | str) -> Path:
    folder = Path(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# --- markers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", MARKERS)
def test_a_folder_with_a_marker_is_a_root(home: Path, marker: str) -> None:
    inner = made(home, "work", "app", "src")
    (home / "work" / "app" / marker).touch()
    assert root(inner, home) == str(home / "work" / "app")


@pytest.mark.parametrize("marker", [".git", "pyproject.toml", "package.json"])
def test_the_markers_of_the_contract_are_known(marker: str) -> None:
    assert marker in MARKERS


def test_a_marker_may_be_a_folder(home: Path) -> None:
    made(home, "app", ".git")
    assert root(made(home, "app", "src"), home) == str(home / "app")


def test_the_nearest_marker_wins(home: Path) -> None:
    made(home, "mono", ".git")
    inner = made(home, "mono", "packages", "one")
    (inner / "package.json").touch()
    assert root(made(inner, "src"), home) == str(inner)


def test_a_folder_with_a_marker_is_its_own_root(home: Path) -> None:
    made(home, "app", ".git")
    assert root(home / "app", home) == str(home / "app")


def test_without_a_marker_the_folder_itself_is_the_root(home: Path) -> None:
    assert root(made(home, "notes", "today"), home) == str(home / "notes" / "today")


# --- limits ---------------------------------------------------------------------------------------------------


def test_no_marker_above_the_workspace_folder_counts(home: Path) -> None:
    made(home, "outer", ".git")
    inner = made(home, "outer", "workspace", "deep")
    assert root(inner, home, home / "outer" / "workspace") == str(inner)


def test_a_marker_in_the_workspace_folder_counts(home: Path) -> None:
    made(home, "workspace", ".git")
    assert root(made(home, "workspace", "deep"), home, home / "workspace") == str(home / "workspace")


def test_a_workspace_folder_that_does_not_hold_the_path_is_no_limit(home: Path) -> None:
    made(home, "app", ".git")
    assert root(made(home, "app", "src"), home, made(home, "other")) == str(home / "app")


def test_a_folder_whose_name_only_begins_like_the_workspace_folder_is_not_in_it(home: Path) -> None:
    made(home, "outer", ".git")
    inner = made(home, "outer", "workspace-two", "src")
    assert root(inner, home, made(home, "outer", "workspace")) == str(home / "outer")


def test_of_nested_workspace_folders_the_inner_one_is_the_limit(home: Path) -> None:
    made(home, "outer", ".git")
    inner = made(home, "outer", "inner", "src")
    assert root(inner, home, home / "outer", home / "outer" / "inner") == str(inner)


def test_a_marker_in_the_home_folder_does_not_count(home: Path) -> None:
    made(home, ".git")
    assert root(made(home, "notes"), home) == str(home / "notes")


def test_a_marker_above_the_home_folder_does_not_count(home: Path) -> None:
    made(home.parent, ".git")
    assert root(made(home, "notes"), home) == str(home / "notes")


def test_a_marker_beside_the_home_folder_counts(home: Path) -> None:
    made(home.parent, "shared", ".git")
    assert root(made(home.parent, "shared", "src"), home) == str(home.parent / "shared")


def test_the_home_folder_itself_is_its_own_root(home: Path) -> None:
    made(home, ".git")
    assert root(home, home) == str(home)


def test_with_a_home_folder_at_the_very_top_markers_below_it_count(home: Path) -> None:
    made(home, "app", ".git")
    assert root(made(home, "app", "src"), Path("/")) == str(home / "app")


# --- ids ------------------------------------------------------------------------------------------------------


def test_a_symbolic_link_leads_to_the_same_project(home: Path) -> None:
    made(home, "app", ".git")
    (home / "link").symlink_to(home / "app")
    assert project(home / "link", home) == project(home / "app", home)


def test_a_link_into_a_workspace_folder_that_is_a_link_leads_to_the_same_project(home: Path) -> None:
    made(home, "outer", ".git")
    made(home, "outer", "workspace")
    (home / "link").symlink_to(home / "outer" / "workspace")
    assert root(made(home, "outer", "workspace", "src"), home, home / "link") == str(
        home / "outer" / "workspace" / "src"
    )


def test_a_home_folder_that_is_a_link_is_still_the_limit(home: Path, tmp_path: Path) -> None:
    made(home, ".git")
    (tmp_path / "link").symlink_to(home)
    assert root(made(home, "notes"), tmp_path / "link") == str(home / "notes")


def test_folders_of_one_name_in_two_places_are_two_projects(home: Path) -> None:
    made(home, "a", "app", ".git")
    made(home, "b", "app", ".git")
    assert project(home / "a" / "app", home).project_id != project(home / "b" / "app", home).project_id


def test_an_id_is_always_the_same(home: Path) -> None:
    assert find_project("/nowhere/app", [], str(home)).project_id == "d6c22045b8d61619f35c7558d5d42671"


def test_an_id_does_not_show_the_path(home: Path) -> None:
    found = project(made(home, "secret"), home).project_id
    assert set(found) <= set("0123456789abcdef")
    assert len(found) == 32


def test_dots_and_slashes_in_a_path_make_no_other_project(home: Path) -> None:
    made(home, "app", ".git")
    assert project(f"{home}//app/../app/./", home) == project(home / "app", home)


# --- odd paths ------------------------------------------------------------------------------------------------


def test_a_path_that_does_not_exist_belongs_to_the_project_above_it(home: Path) -> None:
    made(home, "app", ".git")
    assert root(home / "app" / "not" / "yet.py", home) == str(home / "app")


def test_a_path_that_does_not_exist_can_be_a_root(home: Path) -> None:
    assert root(home / "gone", home) == str(home / "gone")


def test_the_project_of_a_file_is_that_of_its_folder(home: Path) -> None:
    file = made(home, "notes") / "today.md"
    file.touch()
    assert root(file, home) == str(home / "notes")


def test_links_that_lead_in_a_circle_are_no_error(home: Path) -> None:
    (home / "one").symlink_to(home / "two")
    (home / "two").symlink_to(home / "one")
    assert root(home / "one" / "src", home).startswith(str(home))


@pytest.mark.parametrize("path", ["a\0b", "/\ud800"])
def test_what_no_path_can_be_is_told(home: Path, path: str) -> None:
    with pytest.raises(LithifyError, match="is no path") as problem:
        find_project(path, [], str(home))
    assert problem.value.type == "invalid_params"


def test_a_name_that_is_no_utf8_is_a_path(home: Path) -> None:
    folder = os.fsdecode(os.fsencode(str(home)) + b"/caf\xe9")
    made(folder)
    assert root(folder, home) == folder


# --- URIs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "path"),
    [
        ("/home/ann/app", "/home/ann/app"),
        ("relative/app", "relative/app"),
        ("file:///home/ann/app", "/home/ann/app"),
        ("file://localhost/home/ann/app", "/home/ann/app"),
        ("FILE:///home/ann/app", "/home/ann/app"),
        ("file:///home/ann/my%20app", "/home/ann/my app"),
        ("file:///home/ann/caf%C3%A9", "/home/ann/café"),
        ("file:///home/ann/100%25", "/home/ann/100%"),
        ("file:///home/ann/a%23b%3Fc", "/home/ann/a#b?c"),
        ("file:///home/ann/app/", "/home/ann/app/"),
        ("vscode-remote://ssh-remote+host/home/ann/my%20app", "/home/ann/my app"),
        ("vscode-vfs://github/ann/app", "/ann/app"),
        ("/home/ann/my%20app", "/home/ann/my%20app"),
    ],
)
def test_the_path_of_a_uri_or_path(named: str, path: str) -> None:
    assert path_of(named) == path


def test_a_broken_uri_is_told() -> None:
    with pytest.raises(LithifyError, match="is no path") as problem:
        path_of("http://[broken/app")
    assert problem.value.type == "invalid_params"
