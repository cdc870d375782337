"""Keys of a profile, checked against the options that Snakemake has here."""

from pathlib import Path

import pytest
from snakemake_logger_plugin_reprise.profiles import check_keys

ROOT = Path(__file__).parents[3]
GOOD = "__use_yte__: true\n__definitions__: [from os import sep]\n?if sep:\n  logger: [reprise]\njobs: 3\nresources: {gpu: 1}\n"


def test_the_projects_profiles_have_no_wrong_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for profile in ("default", "slurm", "none"):  # the last is not there
        check_keys(["snakemake", "-n", "--workflow-profile", profile])


@pytest.mark.parametrize(
    ("options", "file"),
    [
        ([], "profiles/default/config.yaml"),
        (["-n", "--workflow-profile=profiles/here"], "profiles/here/profile.yaml"),
        (["--workflow-profile", "other/my.yaml"], "other/my.yaml"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(
    options: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(file)
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    check_keys(["snakemake", *options])
    path.write_text(GOOD.replace("  logger:", "  loger:").replace("jobs:", "job-count:"))
    with pytest.raises(SystemExit) as error:
        check_keys(["snakemake", *options])
    first, second, _ = str(error.value).splitlines()
    assert first.startswith(f"Error: {file}: unknown key 'loger'. Did you mean 'logger'? Allowed: ")
    assert second.startswith(f"{file}: unknown key 'job-count'.")
