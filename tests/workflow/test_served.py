"""Test the evaluation of a model at a plain server with OpenAI's API, which answers in words and gives no likelihoods."""

import zlib

import pytest
from reprise.core.errors import UserError

from tests.unit.models.chat_server import MODEL, ChatServer, ReceivedRequest, ServerReply, completion
from tests.workflow.conftest import Project

RUN = "velociti/entail.frames/fps1/plain"


def answer_yes_or_no(received: ReceivedRequest) -> ServerReply:
    """Return an answer in words that depends on the frames and the caption."""
    digest = zlib.crc32("".join([received.prompt, *received.images]).encode())
    return ServerReply(completion(received, ("Yes.", "No.")[digest % 2]))


def test_a_plain_server_has_a_row_and_a_temporal_profile(toy: Project) -> None:
    with ChatServer(answer_yes_or_no) as server:
        output = toy.reprise_output("eval", server.url, "--name", "plain", "--benchmarks", "velociti", "--yes")
        temporal_output = toy.reprise_output("temporal", "plain", "--benchmarks", "velociti", "--yes")
        fields = {key for request in server.received for key in request.body}
    settings = f"settings:\n  url: {server.url}\n  model: {MODEL}\n  frames: images\n"
    assert toy.text("config/models/plain.yaml").endswith(f"label: {MODEL}\nadapter: openai\n{settings}")
    assert f"  {RUN}\n" in output, "the runs name the protocol"
    note = "VELOCITI entail.frames, fps1 (answers in words are scored, because the model gives no likelihoods)"
    assert note in " ".join(output.split())
    cells = [row for row in toy.rows("results/tables/overview.csv") if (row["run"], row["metric"]) == (RUN, "strict")]
    assert cells and all(cell["source"] == "reproduced" and cell["failed"] == "0" for cell in cells)
    assert "logprob_token_ids" not in fields and "max_tokens" in fields
    assert "protocol entail.frames, sampling fps1:" in temporal_output


def test_a_server_that_cannot_be_evaluated_is_reported_and_leaves_no_file(toy: Project) -> None:
    with ChatServer() as server:
        models = [{"id": name} for name in ("owner/first", "second")]
        server.describe = lambda received: ServerReply({"object": "list", "data": models})
        with pytest.raises(UserError, match="offers 2 models: owner/first, second. Choose one with --served-model"):
            toy.call_reprise("eval", server.url, "--name", "several")
        with pytest.raises(UserError, match="unknown model 'secnd'. Did you mean 'second'?"):
            toy.call_reprise("eval", server.url, "--name", "several", "--served-model", "secnd")
        server.describe = lambda received: ServerReply(b"<html>login</html>")
        with pytest.raises(UserError, match="/models: malformed: the reply is not JSON"):
            toy.call_reprise("eval", server.url, "--name", "several")
    with pytest.raises(UserError, match="/models: no answer .*Check the address"):
        toy.call_reprise("eval", server.url, "--name", "several")
    with pytest.raises(UserError, match="should look like http://127.0.0.1:8000/v1"):
        toy.call_reprise("eval", "http://user:secret@host/v1", "--name", "several")
    assert not (toy.root / "config/models/several.yaml").exists()
