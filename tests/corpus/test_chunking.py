import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.chunking import Chunker, Section, estimated_tokens, markdown_sections
from rulewise.errors import InputError

pytest.importorskip("semantic_text_splitter", reason="needs rulewise[documents]")

_WORD = st.text(st.sampled_from("abcdeäя1."), min_size=1, max_size=9)
_LINES = st.lists(
    st.tuples(st.sampled_from(["", "# ", "## ", "- ", "> ", "    ", "### "]), st.lists(_WORD, max_size=25)), max_size=20
)


@pytest.mark.parametrize(
    ("text", "n"), [("", 0), (" \n", 0), ("leave", 1), ("holidays", 2), ("2014-03", 4), ("规则检索", 4), ("a, b.", 4)]
)
def test_tokens_are_counted_as_said(text, n):
    assert estimated_tokens(text) == n


@settings(deadline=None, max_examples=50)
@given(lines=_LINES, overlap=st.integers(0, 15), headings=st.booleans())
def test_every_word_is_in_a_chunk_and_no_chunk_is_too_long(lines, overlap, headings):
    text = "\n".join(mark + " ".join(words) for mark, words in lines)
    chunker = Chunker(chunk_tokens=32, overlap=overlap, headings_in_text=headings)
    chunks = chunker.chunks(markdown_sections(text), markdown=True)
    # the splitter may cut at the full stop within "a1.1a" where a chunk is full, but never within letters and digits
    kept = {part for chunk in chunks for part in re.findall(r"\w+", chunk.text)}
    assert {part for _, words in lines for word in words for part in re.findall(r"\w+", word)} <= kept
    assert all(0 < estimated_tokens(chunk.text) <= 32 for chunk in chunks)


@pytest.mark.parametrize("overlap", [0, 8, 15])
def test_neighbours_share_as_much_as_asked(overlap):
    words = [f"w{at:02d}" for at in range(100)]  # two tokens each
    chunks = Chunker(chunk_tokens=32, overlap=overlap).chunks([Section((), " ".join(words))])
    pairs = [(set(a.text.split()), set(b.text.split())) for a, b in pairwise(chunks)]
    assert len(pairs) > 3
    assert {2 * len(a & b) for a, b in pairs[:-1]} == {overlap // 2 * 2}


def test_headings_lead_to_their_text():
    text = "# Manual\n\n## Leave\n\nTwo weeks.\n\n```\n# no heading\n```\n\nPay\n---\n\nMonthly.\n\n# Empty\n"
    chunks = Chunker().chunks(markdown_sections(text), markdown=True)
    assert [chunk.heading for chunk in chunks] == ["Manual > Leave", "Manual > Pay", "Empty"]
    assert chunks[0].text.startswith("Manual > Leave\n\nTwo weeks.\n\n```\n# no heading")
    assert chunks[2].text.strip() == "Empty"


def test_a_long_heading_is_text_and_short_in_metadata():
    title = " ".join(["word"] * 300)
    chunks = Chunker(chunk_tokens=32, overlap=4).chunks(markdown_sections(f"# {title}\n\nbody"), markdown=True)
    assert len(chunks) > 8
    assert all(len(chunk.heading) <= 83 for chunk in chunks)


@pytest.mark.parametrize(("tokens", "overlap"), [(15, 0), (32, -1), (32, 16)])
def test_sizes_out_of_range_are_refused(tokens, overlap):
    with pytest.raises(InputError, match="expected"):
        Chunker(chunk_tokens=tokens, overlap=overlap)


@pytest.mark.parametrize("text", ["a" * 60_000, "a" + "\u0301" * 20_000, "|a" * 20_000, "> " * 10_000])
def test_hostile_lines_take_time_in_proportion(text):
    start = time.process_time()
    Chunker().chunks([Section((), text)], markdown=True)
    assert time.process_time() - start < 3


def test_half_a_surrogate_pair_does_not_stop_a_file():
    (chunk,) = Chunker().chunks([Section((), "a \ud800 b")])
    assert chunk.text == "a ? b"
