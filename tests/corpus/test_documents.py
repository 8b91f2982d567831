import io
import os
from pathlib import Path

import pytest

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.documents import read_documents
from rulewise.corpus.records import read_table_records
from rulewise.errors import FileFormatError, InputError, MissingExtraError
from rulewise.extras import is_available
from rulewise.types import Document


def pdf_of(*pages: str) -> bytes:
    """A PDF with a line of text on each page, written by hand."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = b"%PDF-1.4\n"
    offsets = []
    for number, one in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{at:010d} 00000 n \n".encode() for at in offsets)
    return out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


def test_a_folder_is_read_in_order_and_what_is_left_out_is_reported(tmp_path: Path):
    pytest.importorskip("semantic_text_splitter", reason="needs rulewise[documents]")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "note.txt").write_text("Bob sleeps.")
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "Anna sings.", "year": 2014}\n')
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c.txt").write_text("hidden")
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    report = read_documents(tmp_path)
    assert list(report.corpus) == [
        Document(id="x", text="Anna sings.", metadata={"source": "a.jsonl", "year": "2014"}),
        Document(id="b/note.txt#1", text="Bob sleeps.", metadata={"source": "b/note.txt"}),
    ]
    assert (report.n_files, report.n_documents, report.n_chunks, report.n_skipped) == (2, 2, 1, 3)
    assert sorted(one.rpartition(": ")[2] for one in report.skipped) == [
        "a link. Give it by name to have it read.",
        "hidden.",
        "of no known kind.",
    ]
    assert report.summary().startswith("2 documents (1 chunks) of 2 texts in 2 files")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_encodings_are_found(tmp_path: Path, encoding: str):
    (tmp_path / "a.csv").write_bytes("id,text\nx,规则检索\n".encode(encoding))
    assert read_documents(tmp_path / "a.csv").corpus.by_id("x").text == "规则检索"


def test_another_encoding_is_named(tmp_path: Path):
    (tmp_path / "a.csv").write_bytes("id;text\nx;café\n".encode("cp1252"))
    with pytest.raises(FileFormatError, match=r"a.csv:2: byte"):
        read_documents(tmp_path)
    assert read_documents(tmp_path, encoding="cp1252").corpus[0].text == "café"


def test_rows_with_problems_are_named_or_left_out(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(
        '{"id": "x", "contents": "one"}\nnot json\n{"id": "y", "text": " "}\n{"id": "x", "text": "two"}\n'
        '["z"]\n{"id": "z"}\n' + "[" * 100_000 + '\n{"_id": 7, "text": "seven", "title": "T", "none": null}\n'
    )
    with pytest.raises(
        FileFormatError, match=r"a.jsonl:2: not JSON(.|\n)*and 1 more\n2 documents could be read, 6 pro"
    ):
        read_documents(tmp_path / "a.jsonl")
    report = read_documents(tmp_path / "a.jsonl", strict=False)
    assert list(report.corpus.ids) == ["x", "7"]
    assert report.corpus[1].metadata == {"source": "a.jsonl", "title": "T"}
    assert report.n_problems == 6
    assert report.problems[1] == "a.jsonl:3: the text is blank."
    assert report.problems[2] == "a.jsonl:4: the id 'x' is taken by a.jsonl:1. Ids must be unique."


def test_a_saved_corpus_is_read_with_its_metadata(tmp_path: Path):
    corpus = Corpus([Document(id="x", text="one", metadata={"page": "3", "source": "s"})])
    corpus.save(tmp_path / "c.jsonl")
    assert list(read_documents(tmp_path / "c.jsonl").corpus) == list(corpus)


def test_a_table_may_name_its_columns_otherwise_and_lack_ids(tmp_path: Path):
    (tmp_path / "a.tsv").write_text('\nnr\tbody\tby\n1\t"two\nlines"\tAnna\n2\tshort\n')
    report = read_documents(tmp_path / "a.tsv", columns={"text": "body"})
    assert [one.id for one in report.corpus] == ["a.tsv#3", "a.tsv#5"]
    assert report.corpus[0].text == "two\nlines"
    assert report.corpus[0].metadata == {"source": "a.tsv", "nr": "1", "by": "Anna"}


def test_a_table_without_a_column_of_text_is_refused(tmp_path: Path):
    (tmp_path / "a.csv").write_text("id,body\nx,y\n")
    with pytest.raises(FileFormatError, match="no column is called 'text' or 'contents'"):
        read_documents(tmp_path)


def test_broken_quoting_costs_its_own_line_only(tmp_path: Path):
    (tmp_path / "a.csv").write_text('id,text\na,"one\nb,two\nc,"x"y\nd,a,b\ne,five\n')
    report = read_documents(tmp_path, strict=False)
    assert list(report.corpus.ids) == ["b", "e"]
    assert [one[:8] for one in report.problems] == ["a.csv:2:", "a.csv:4:", "a.csv:5:"]


def test_quotation_marks_that_stay_open_take_linear_time():
    found = list(read_table_records("text,more\n" + 'a","\n' * 20_000, {}, source="x"))
    assert len(found) == 20_000


BLANK = [(ending, data) for ending in (".txt", ".md", ".csv", ".jsonl", ".pdf", ".docx") for data in (b"", b" \n\t")]


@pytest.mark.parametrize(("ending", "data"), [*BLANK, (".txt", b"\xff\xfe"), (".txt", "\ufeff \u3000".encode())])
def test_a_blank_file_is_counted_and_named_and_no_problem(tmp_path: Path, ending: str, data: bytes):
    (tmp_path / f"blank{ending}").write_bytes(data)
    (tmp_path / "rows.csv").write_text("text\none\n")
    report = read_documents(tmp_path)
    assert (len(report.corpus), report.n_files, report.n_documents, report.n_problems) == (1, 2, 1, 0)
    assert (report.n_blank, report.blank) == (1, (f"blank{ending}",))
    assert f"in 2 files, 1 blank (blank{ending}), 0 blank pages" in report.summary()


def test_a_folder_of_blank_files_gives_an_empty_corpus_and_names_the_first(tmp_path: Path):
    for n in range(5):
        (tmp_path / f"{n}.txt").touch()
    report = read_documents(tmp_path)
    assert len(report.corpus) == 0
    assert "5 blank (0.txt, 1.txt, 2.txt, ...)" in report.summary()


def test_a_file_that_is_not_blank_and_gives_no_text_is_a_problem(tmp_path: Path):
    docx = pytest.importorskip("docx", reason="needs rulewise[documents]")
    docx.Document().save(tmp_path / "a.docx")
    with pytest.raises(FileFormatError, match=r"a.docx: holds no text"):
        read_documents(tmp_path)


def test_a_report_is_plain_values(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\nno\n')
    (tmp_path / "b.txt").touch()
    found = read_documents(tmp_path, strict=False).to_dict()
    (problem,) = found.pop("problems")
    assert problem.startswith("a.jsonl:2: not JSON")
    assert found == {
        "documents": 1, "files": 2, "texts": 1, "chunks": 0, "blank": ["b.txt"], "n_blank": 1, "n_blank_pages": 0,
        "n_mended": 0, "n_problems": 1, "skipped": [], "n_skipped": 0,
    }  # fmt: skip


def test_pages_of_a_pdf_are_named(tmp_path: Path):
    pytest.importorskip("pypdf", reason="needs rulewise[documents]")
    (tmp_path / "a.pdf").write_bytes(pdf_of("Anna sings.", "", "Bob sleeps."))
    report = read_documents(tmp_path)
    assert [(one.id, one.text, one.metadata["page"]) for one in report.corpus] == [
        ("a.pdf#1", "Anna sings.", "1"),
        ("a.pdf#2", "Bob sleeps.", "3"),
    ]
    assert (report.n_blank_pages, report.n_blank) == (1, 0)


def test_pdfs_that_cannot_be_read_are_named(tmp_path: Path):
    pypdf = pytest.importorskip("pypdf", reason="needs rulewise[documents]")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf_of("secret")))
    writer.encrypt("word", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    (tmp_path / "cut.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "blank.pdf").write_bytes(pdf_of(""))
    report = read_documents(tmp_path, strict=False)
    assert len(report.corpus) == 0
    blank, cut, locked = report.problems
    assert "blank.pdf: holds no text. Pages of images" in blank
    assert "cut.pdf: not a PDF that can be read" in cut
    assert "locked.pdf: needs a password" in locked


def test_a_docx_keeps_headings_and_tables_in_order(tmp_path: Path):
    docx = pytest.importorskip("docx", reason="needs rulewise[documents]")
    document = docx.Document()
    document.add_heading("Leave", 1)
    document.add_paragraph("Everyone has leave.")
    document.add_heading("Notice", 2)
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "weeks", "two"
    document.add_paragraph("After the table.")
    document.save(tmp_path / "a.docx")
    first, second = read_documents(tmp_path).corpus
    assert (first.text, first.metadata["heading"]) == ("Leave\n\nEveryone has leave.", "Leave")
    assert second.text == "Leave > Notice\n\nweeks | two\n\nAfter the table."


def test_a_damaged_docx_is_named(tmp_path: Path):
    pytest.importorskip("docx", reason="needs rulewise[documents]")
    (tmp_path / "a.docx").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileFormatError, match=r"a.docx: not a DOCX file"):
        read_documents(tmp_path)


def test_rows_are_chunked_on_request(tmp_path: Path):
    pytest.importorskip("semantic_text_splitter", reason="needs rulewise[documents]")
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "' + "word " * 60 + '"}\n')
    corpus = read_documents(tmp_path, chunk_rows=True, chunk_tokens=32, overlap=0).corpus
    assert list(corpus.ids) == ["x#1", "x#2"]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text("text\none\n")
    paths = [tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv", tmp_path / "a" / "x.csv"]
    report = read_documents(paths)
    assert list(report.corpus.ids) == ["a/x.csv#2", "b/x.csv#2"]
    assert report.n_skipped == 1


def test_a_file_name_cannot_break_a_line(tmp_path: Path):
    (tmp_path / "a\nb.csv").write_text("text\none\n")
    assert read_documents(tmp_path).corpus[0].id == "a%0Ab.csv#2"


def test_arguments_and_paths_are_checked(tmp_path: Path):
    (tmp_path / "a.bin").write_text("x")
    with pytest.raises(InputError, match=r"no file of a known kind.*a.bin: of no known kind"):
        read_documents(tmp_path)
    with pytest.raises(FileFormatError, match="of no known kind"):
        read_documents(tmp_path / "a.bin")
    with pytest.raises(InputError, match=r"none: is not there\. Give files or folders"):
        read_documents(tmp_path / "none")
    with pytest.raises(InputError, match="overlap"):
        read_documents(tmp_path, overlap=100)
    with pytest.raises(InputError, match="txt"):
        read_documents(tmp_path, columns={"txt": "x"})


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "semantic_text_splitter", None)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(MissingExtraError, match=r"rulewise\[documents\]"):
        read_documents(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="everything is readable for root")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text\none\n")
    (tmp_path / "a.csv").chmod(0)
    with pytest.raises(FileFormatError, match=r"a.csv: cannot be opened"):
        read_documents(tmp_path)


@pytest.mark.parametrize("name", ["scandir", "lstat"])
def test_a_folder_that_may_not_be_read_is_a_problem(tmp_path: Path, monkeypatch, name: str):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.csv").write_text("text\none\n")
    real = getattr(os, name)

    def refuse(path=".", *args, **kwargs):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    if name == "scandir":
        monkeypatch.setattr(os, name, refuse)
    else:
        monkeypatch.setattr(Path, name, lambda path: refuse(path))
    with pytest.raises(
        FileFormatError, match=r"sub: cannot be opened \(Permission denied\)\.\n1 documents could be read"
    ):
        read_documents(tmp_path)
    report = read_documents(tmp_path, strict=False)
    assert (len(report.corpus), report.n_problems, report.n_skipped) == (1, 1, 0)
    (tmp_path / "a.csv").unlink()
    with pytest.raises(FileFormatError, match=r"sub: cannot be opened"):
        read_documents(tmp_path)


@pytest.mark.skipif(not is_available("semantic_text_splitter"), reason="needs semantic-text-splitter")
def test_the_overlap_is_a_fifth_of_a_chunk_unless_given(tmp_path: Path):
    (tmp_path / "a.txt").write_text(" ".join(f"w{n}" for n in range(300)))
    unsaid = read_documents(tmp_path, chunk_tokens=50).corpus
    assert list(unsaid) == list(read_documents(tmp_path, chunk_tokens=50, overlap=10).corpus)
    assert list(unsaid) != list(read_documents(tmp_path, chunk_tokens=50, overlap=0).corpus)


def test_a_table_without_a_column_of_texts_says_how_to_name_it(tmp_path: Path):
    (tmp_path / "a.csv").write_text("body\none\n")
    with pytest.raises(FileFormatError, match=r"--map text=BODY"):
        read_documents(tmp_path)


def test_half_of_a_surrogate_pair_is_replaced_and_counted(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"id": "\\ud83d", "text": "a \\ud83d", "k": "\\ude00"}\n{"text": "b"}\n')
    report = read_documents(tmp_path)
    assert (report.corpus[0].id, report.corpus[0].text, report.corpus[0].metadata["k"]) == (
        "\ufffd",
        "a \ufffd",
        "\ufffd",
    )
    assert report.n_mended == 1
    assert report.summary().endswith("1 rows with half of a surrogate pair mended")
