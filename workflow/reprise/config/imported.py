"""Models whose answers were made elsewhere: the settings of their files."""

from pathlib import Path

from reprise.config.configuration import Configuration
from reprise.core.errors import UserError
from reprise.core.files import inside
from reprise.external import has_importer, imports_of, load_importer
from reprise.models.settings import ImportSettings


def import_settings(found: Configuration, slug: str) -> ImportSettings:
    """The settings of an imported model, which the configuration has checked."""
    return ImportSettings.model_validate(found.models[slug].settings)


def import_folder(slug: str, benchmark: str, folder: str) -> Path:
    """A folder of a model's files; a UserError if it is outside the model's own folder."""
    own = imports_of(benchmark, slug)
    if folder == ".":
        return own
    if inside(own, folder) is None:
        raise UserError(f"'{folder}' is not inside {own}.")
    return own / folder


def form_problems(benchmark: str, form: str) -> list[str]:
    """A form of question that the authors' files hold no answers to."""
    if not has_importer(benchmark):
        return [f"answers to '{benchmark}' cannot be imported: it has no file format."]
    forms = load_importer(benchmark).FORMS
    return [] if form in forms else [f"the authors' files hold no answers to form '{form}'. Forms: {', '.join(forms)}."]
