"""Open a pull request with a model's numbers at its repository on the Hugging Face hub."""

from httpx2 import HTTPError
from huggingface_hub import CommitOperationAdd, HfApi, ModelCard
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError

from reprise.core.errors import UserError
from reprise.core.plain import sanitize_line
from reprise.external.model_card import build_leaderboard_files, create_card, merge_into_card
from reprise.external.publication import Publication
from reprise.fetch.outcome import FetchError
from reprise.fetch.retry import time_limit
from reprise.report.redaction import Redactor

CARD = "README.md"  # File of the model card in a repository.
MAX_S = 120  # Maximum seconds of all calls to the hub.


def open_pull_request(publication: Publication, redactor: Redactor) -> str:
    """Add the numbers to the model card in a pull request, and return its address.

    Raises:
        UserError: The model has no repository, or the hub refuses.
    """
    repo = publication.repo
    if not repo:
        raise UserError(
            f"publish: {publication.slug} has no repository on the hub. Name it with --repo <owner>/<name>. The other "
            "files are written."
        )
    try:
        with time_limit(MAX_S):
            files = {CARD: str(_load_card(publication, redactor))}
            files |= {name: redactor.redact(text) for name, text in build_leaderboard_files(publication).items()}
            commit = HfApi().create_commit(
                repo,
                [CommitOperationAdd(name, text.encode()) for name, text in files.items()],
                commit_message=f"Add evaluation results of Reprise {publication.version}",
                create_pr=True,
            )
    except FetchError as error:
        raise UserError(f"publish: the hub did not answer within {MAX_S} s. Run the same command again.") from error
    except RepositoryNotFoundError as error:
        raise UserError(
            f"publish: the hub has no model {repo}, or HF_TOKEN does not give access to it. Correct --repo or HF_TOKEN."
        ) from error
    except (HfHubHTTPError, HTTPError, OSError, ValueError) as error:
        message = sanitize_line(str(error))
        raise UserError(f"publish: no pull request at {repo}: {message} The other files are written.") from error
    return f"Pull request: {commit.pr_url}"


def _load_card(publication: Publication, redactor: Redactor) -> ModelCard:
    """Return the model card of the repository with the numbers, or a new card if it has none."""
    try:
        card = ModelCard.load(publication.repo)
    except EntryNotFoundError:
        return ModelCard(redactor.redact(str(create_card(publication))))
    merge_into_card(card, publication)  # The card's own text stays as it is.
    return card
