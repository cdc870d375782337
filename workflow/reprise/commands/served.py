"""Describe the model of a running server by its address, for the command `eval`."""

from typing import Any

from reprise.core.errors import UserError, unknown_name_error
from reprise.models.remote.model_list import list_models
from reprise.models.remote.settings import BARE_URL


def is_server_url(source: str) -> bool:
    """Return whether the argument of `eval` is the address of a server."""
    return source.startswith(("http://", "https://"))


def normalise_url(source: str) -> str:
    """Return the address of a server's API, such as http://127.0.0.1:8000/v1; a bare host gets the path `/v1`."""
    if not BARE_URL.fullmatch(source):
        raise UserError(
            "eval: the address of a server should look like http://127.0.0.1:8000/v1, without a user, a key or a query "
            "string."
        )
    url = source.rstrip("/")
    return url if url.count("/") > 2 else f"{url}/v1"


def describe_served_model(source: str, model_name: str | None) -> dict[str, Any]:
    """Return the content of the file of a model at a running server.

    Args:
        source: Address of the server.
        model_name: Name of the model at the server; None selects its only model.

    Raises:
        UserError: The server does not answer, or offers several models or none of this name.
    """
    url = normalise_url(source)
    names = list_models(url)
    if model_name is not None and model_name not in names:
        raise unknown_name_error("model", model_name, names, f"--served-model: {url}")
    if model_name is None and len(names) != 1:
        offer = f"{len(names)} models: {', '.join(names)}. Choose one with --served-model" if names else "no model"
        raise UserError(f"eval: {url} offers {offer}.")
    name = model_name or names[0]
    return {
        "label": name.rpartition("/")[2],
        "adapter": "openai",
        "settings": {"url": url, "model": name, "frames": "images"},
    }
