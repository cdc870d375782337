"""Worlds made here: found by their import strings, and imported by nothing that is static."""

import pytest
from reprise.fetch.plugins import PLUGINS, load_world, plugin_module
from reprise.fetch.settings import Folder, Rehearsal, ReleaseRehearsal, ReleaseToy, Toyworld


@pytest.mark.parametrize("settings", [ReleaseToy(kind="toyworld"), ReleaseRehearsal(kind="rehearsal")])
def test_a_world_of_the_configuration_is_found(settings: ReleaseToy | ReleaseRehearsal) -> None:
    world = load_world(settings.kind)
    assert callable(world.write_release) and callable(world.fetcher)
    assert plugin_module(settings.kind) == PLUGINS[settings.kind] == world.__name__  # type: ignore[attr-defined]


def test_what_is_fetched_has_no_plugin() -> None:
    routes = (Toyworld(kind="toyworld"), Rehearsal(kind="rehearsal"), Folder(kind="folder", path="x"))
    assert [plugin_module(route.kind) is not None for route in routes] == [True, True, False]
