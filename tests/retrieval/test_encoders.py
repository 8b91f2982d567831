import json
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import EncoderError, InputError, MissingExtraError, UnknownNameError
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.encoders import ENCODERS, EncoderOptions, build_encoder
from rulewise.retrieval.encoders.openai import OpenAIEncoder
from rulewise.retrieval.encoders.pair import PairEncoder
from rulewise.retrieval.encoders.prefixes import Prefixes, prefixes_of
from rulewise.retrieval.encoders.rows import clean, unit_rows
from rulewise.retrieval.encoders.sentence import SentenceTransformerEncoder
from rulewise.testing import HashingEncoder
from rulewise.types import Rule

# --- names


def test_every_registered_encoder_can_be_loaded_by_its_name():
    assert sorted(ENCODERS) == ["local", "openai", "pair", "st"]
    assert all(callable(ENCODERS.load(name)) for name in ENCODERS)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("lokal", UnknownNameError, "Did you mean 'local'"),
        ("", UnknownNameError, "Known: local, openai, pair, st"),
        ("st:", InputError, "'st:MODEL'"),
        ("st", InputError, "needs a model"),
        ("openai", InputError, "text-embedding-3-small"),
        ("local:big", InputError, "has one model"),
        ("openai:m", InputError, "RULEWISE_API_KEY"),
        ("pair:", InputError, "'pair:MODEL'"),
        ("pair", InputError, "one comma"),
        ("pair:st:a", InputError, "one comma between them, got 'st:a'"),
        ("pair:st:a,", InputError, "one comma"),
        ("pair:st:a,st:b,st:c", InputError, "dpr-question_encoder"),
        ("pair:lokal,local", UnknownNameError, "Did you mean 'local'"),
    ],
)
def test_a_specification_that_means_nothing_is_explained(spec, error, message):
    with pytest.raises(error, match=message):
        build_encoder(spec)


def test_a_key_is_never_shown():
    assert "secret" not in repr(EncoderOptions(api_key="secret"))


# --- pairs


def test_a_pair_encodes_queries_with_one_and_documents_with_the_other():
    class Named(HashingEncoder):
        def __init__(self, name, sign):
            super().__init__(dim=8)
            self.name, self._sign = name, sign

        def encode(self, texts, *, role):
            return self._sign * super().encode(texts, role=role)

    pair = PairEncoder(Named("q", 1), Named("d", -1))
    assert pair.encode([""], role="query").tolist() == [[0.0] * 8]
    assert pair.name == "pair:q,d"
    queries, documents = (pair.encode(["late fee"], role=role) for role in ("query", "document"))
    assert np.array_equal(queries, -documents)
    assert queries.any()
    found = Dense([Rule(id="a", text="late fee")], pair).search(["late fee"], k=1)[0]
    assert found[0].score == pytest.approx(-1, abs=1e-6)


def test_a_pair_of_different_lengths_is_an_error():
    pair = PairEncoder(HashingEncoder(dim=8), HashingEncoder(dim=16))
    pair.encode(["a case"], role="query")
    with pytest.raises(EncoderError, match="queries have 8 dimensions and documents 16"):
        pair.encode(["a rule"], role="document")


def test_a_pair_is_made_of_two_specifications(fake_library):
    pair = build_encoder("pair:st:m/question, st:m/context")
    assert pair.name == "pair:st:m/question,st:m/context"


# --- prefixes


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("/models/multilingual-e5-large/", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", "Instruct: ", ""),
        ("intfloat/e5-mistral-7b-instruct", "Instruct: ", ""),
        ("BAAI/bge-large-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-base-zh-v1.5", "为这个句子生成表示以用于检索相关文章", ""),
        ("BAAI/bge-multilingual-gemma2", "<instruct>", ""),
        ("BAAI/bge-m3", "", ""),
        ("thenlper/gte-base", "", ""),
        ("Alibaba-NLP/gte-Qwen2-1.5B-instruct", "Instruct: ", ""),
    ],
)
def test_prefixes_follow_the_models_card(model, query, document):
    found = prefixes_of(model)
    assert found is not None
    assert found.query.startswith(query)
    assert bool(found.query) == bool(query)
    assert found.document == document


def test_a_model_that_only_contains_a_known_name_is_not_taken_for_it():
    assert prefixes_of("someone/the5-base") is None
    assert prefixes_of("intfloat/e5-base/all-MiniLM-L6-v2") is None


# --- rows


def test_rows_come_back_in_order_with_equal_texts_encoded_once():
    asked = []

    def back_end(part):
        asked.append(part)
        return [[len(text), 0.0] for text in part]

    rows = unit_rows(["b", "", "aa", "b", " \n"], back_end, name="x", batch=1)
    assert asked == [["b"], ["aa"]]
    assert rows.tolist() == [[1, 0], [0, 0], [1, 0], [1, 0], [0, 0]]


def test_the_length_of_blank_rows_is_asked_for_when_nothing_else_tells_it():
    assert unit_rows(["", " "], lambda part: [[3.0, 4.0]] * len(part), name="x", batch=8).tolist() == [[0, 0], [0, 0]]
    assert unit_rows([""], None, name="x", batch=8, dim=3).shape == (1, 3)
    assert unit_rows([], None, name="x", batch=8).shape == (0, 0)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[float("nan"), 1.0]], "NaN or infinity for text 1"),
        ([[float("inf"), 1.0]], "NaN or infinity"),
        ([[0.0, 0.0]], "vector of zeros for text 1"),
        ([[1.0, 0.0], [1.0, 0.0]], r"shape \(2, 2\) for 1 texts"),
        ([[]], r"shape \(1, 0\)"),
        ([1.0], r"shape \(1,\)"),
        ([[1.0, 0.0, 0.0]], "length 3; expected 2"),
        ([["x", "y"]], "no vectors"),
        (None, "returned"),
    ],
)
def test_a_back_end_that_returns_no_unit_rows_is_an_error(vectors, message):
    with pytest.raises(EncoderError, match=message):
        unit_rows(["text"], lambda part: vectors, name="x", batch=8, dim=2)


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.characters(codec=None, min_codepoint=0, max_codepoint=0x10FFFF)))
def test_cleaned_texts_have_no_nul_and_encode_as_utf8(text):
    cleaned = clean(text)
    assert "\0" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


def test_cleaning_keeps_what_is_sound():
    assert clean("a\0b \ud800 如果 👍") == "a b ? 如果 👍"


# --- sentence-transformers, by a stand-in module: the library is not part of the test set-up


@pytest.fixture
def fake_library(monkeypatch):
    module = types.ModuleType("sentence_transformers")
    module.calls = []

    class SentenceTransformer:
        def __init__(self, model, device=None):
            if model == "absent":
                raise OSError("no such model")
            self.prompts = {"query": "q> ", "passage": "p> "} if model == "own-prompts" else {}
            module.calls.append((model, device))

        def get_sentence_embedding_dimension(self):
            return 2

        def encode(self, texts, **options):
            if "boom" in texts:
                raise RuntimeError("out of memory")
            module.calls.append((tuple(texts), options.get("prompt")))
            assert options["normalize_embeddings"]
            return np.array([[3.0, 4.0]] * len(texts), dtype=np.float32)

    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module


def test_sentence_transformers_get_the_prefix_of_the_role(fake_library):
    encoder = build_encoder("st:intfloat/multilingual-e5-base", options=EncoderOptions(device="cpu"))
    assert encoder.name == "st:intfloat/multilingual-e5-base"
    rows = encoder.encode(["a", "", "a"], role="query")
    encoder.encode(["b"], role="document")
    assert fake_library.calls == [
        ("intfloat/multilingual-e5-base", "cpu"),
        (("a",), "query: "),
        (("b",), "passage: "),
    ]
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0.6, 0.8]]))


def test_a_model_the_table_does_not_know_brings_its_own_prompts(fake_library):
    assert SentenceTransformerEncoder("own-prompts").prefixes == Prefixes(query="q> ", document="p> ")
    assert SentenceTransformerEncoder("plain").prefixes == Prefixes()
    given = Prefixes(query="x ")
    assert SentenceTransformerEncoder("own-prompts", prefixes=given).prefixes == given


def test_failures_of_sentence_transformers_are_encoder_errors(fake_library):
    with pytest.raises(EncoderError, match=r"cannot load 'absent' \(OSError: no such model\)"):
        SentenceTransformerEncoder("absent")
    with pytest.raises(EncoderError, match=r"out of memory.*smaller batch"):
        SentenceTransformerEncoder("plain").encode(["boom"], role="query")
    with pytest.raises(InputError, match="batch"):
        SentenceTransformerEncoder("plain", batch=0)


def test_without_the_library_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"'st:any' needs sentence_transformers.*rulewise\[dense\]"):
        build_encoder("st:any")


# --- an OpenAI-compatible endpoint on the loopback interface


class Endpoint(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict] = []
        self.keys: list[str] = []
        self.replies: list = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers.get("Authorization", ""))
        status, reply = self.server.replies.pop(0) if self.server.replies else (200, None)
        if reply is None:
            # vectors that tell the text's length, in reverse order: the index decides
            data = [
                {"object": "embedding", "index": at, "embedding": [1.0, float(len(text))]}
                for at, text in enumerate(body["input"])
            ]
            reply = {"object": "list", "model": body["model"], "data": data[::-1], "usage": {}}
        payload = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        if status == 429:
            self.send_header("Retry-After", "0.01")
        self.end_headers()
        self.wfile.write(payload)


@pytest.fixture
def endpoint():
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def make(endpoint):
    made = []

    def build(model="m", **options):
        encoder = OpenAIEncoder(model, **{"base_url": endpoint.url, "api_key": "secret", **options})
        made.append(encoder)
        return encoder

    yield build
    for encoder in made:
        encoder._client.close()


def test_an_endpoint_is_asked_in_batches_and_its_order_put_right(endpoint, make):
    texts = ["a", "bb", "", "ccc", "dddd", "eeeee"]
    rows = make(batch=2).encode(texts, role="query")
    assert [request["input"] for request in endpoint.requests] == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert [row[1] / row[0] if any(row) else 0 for row in rows.tolist()] == pytest.approx([1, 2, 0, 3, 4, 5])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 0, 1, 1, 1])
    assert set(endpoint.keys) == {"Bearer secret"}


def test_prefixes_dimensions_and_the_cut_reach_the_endpoint(endpoint, make):
    encoder = make("intfloat/e5-small", dimensions=2, max_chars=3)
    assert encoder.name == "openai:intfloat/e5-small:2"
    encoder.encode(["  abcdef"], role="document")
    assert endpoint.requests[0]["input"] == ["passage: abc"]
    assert endpoint.requests[0]["dimensions"] == 2


def test_an_endpoint_without_a_key_gets_none_of_ours(endpoint, make):
    make(api_key="").encode(["a"], role="query")
    assert endpoint.keys == ["Bearer none"]


def test_a_passing_failure_is_tried_again(endpoint, make):
    endpoint.replies = [(429, {"error": {"message": "slow down"}}), (200, None)]
    assert make().encode(["a"], role="query").shape == (1, 2)
    assert len(endpoint.requests) == 2


def reply(*rows):
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in rows]
    return {"object": "list", "model": "m", "data": data, "usage": {}}


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {"error": {"message": "bad key secret"}}, "refused the key"),
        (404, {"error": {"message": "no model"}}, "ends in /v1"),
        (400, {"error": {"message": "too long"}}, "status 400.*too long"),
        (429, {"error": {"message": "slow"}}, "rate limit"),
        (200, reply((0, [1.0, 0.0])), "1 vectors for 2 texts"),
        (200, reply((0, [1.0]), (0, [1.0])), "wrong positions"),
        (200, reply((0, [1.0]), (1, [1.0, 2.0])), "unequal length"),
        (200, reply((0, [0.0]), (1, [0.0])), "vector of zeros"),
        (200, {"object": "list", "data": None}, "0 vectors|No embedding data|failed"),
    ],
)
def test_an_endpoint_that_fails_is_one_line_without_the_key(endpoint, make, status, body, message):
    endpoint.replies = [(status, body)]
    with pytest.raises(EncoderError, match=message) as caught:
        make(max_retries=0).encode(["a", "b"], role="query")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_changes_its_length_is_an_error(endpoint, make):
    encoder = make()
    encoder.encode(["a"], role="query")
    endpoint.replies = [(200, reply((0, [1.0, 2.0, 3.0])))]
    with pytest.raises(EncoderError, match="length 3; expected 2"):
        encoder.encode(["b"], role="query")


def test_no_server_at_the_address_is_said(endpoint, make):
    encoder = make(base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(EncoderError, match=r"no answer from http://127.0.0.1:9/v1"):
        encoder.encode(["a"], role="query")


@pytest.mark.parametrize("options", [{"batch": 0}, {"max_chars": 0}, {"timeout_s": 0}, {"dimensions": 0}])
def test_arguments_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="at least"):
        OpenAIEncoder("m", base_url="http://127.0.0.1:9/v1", **options)


def test_built_with_a_cache_an_endpoint_is_asked_once(endpoint, tmp_path):
    options = EncoderOptions(base_url=endpoint.url, cache=tmp_path / "cache")
    for _ in range(2):
        encoder = build_encoder("openai:m", options=options)
        rows = encoder.encode(["a", "bb"], role="document")
        encoder._encoder._client.close()
    assert rows.shape == (2, 2)
    assert len(endpoint.requests) == 1
