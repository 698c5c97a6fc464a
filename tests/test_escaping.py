"""Escaped names read as they are: judged by parsers of each format, which share no code with the escaping."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from hostile import NAMES
from hypothesis import given
from hypothesis import strategies as st

from quatcast.basics import escaping
from quatcast.cli.terminal import print_table, say, warn

texts = st.text(st.characters(codec=None), max_size=30) | st.sampled_from(NAMES)


class Words(HTMLParser):
    """Everything in a piece of HTML that is not text, and the text."""

    def __init__(self, text):
        super().__init__()
        self.other, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.other.append((tag, *attributes))

    def handle_comment(self, data):
        self.other.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    def handle_data(self, data):
        self.text += data


@given(texts)
def test_printable_text_can_be_written_and_commands_no_terminal(text):
    shown = escaping.one_line(text)
    shown.encode("utf-8")
    assert shown.splitlines() in ([shown], [])
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", shown)
    assert escaping.one_line(shown) == shown


@given(texts)
def test_html_is_text_only(text):
    inside = Words(f"<p>{escaping.html_text(text)}</p>")
    assert inside.other == [("p",)]
    assert inside.text == escaping.printable(text)
    attribute = Words(f"<p title=\"{escaping.html_text(text)}\" lang='{escaping.html_text(text)}'>")
    assert [dict(tag[1:]).keys() for tag in attribute.other] == [{"title", "lang"}]


@given(texts)
def test_json_stays_inside_its_script_element(text):
    embedded = escaping.embedded_json({text: [text]})
    assert "<" not in embedded
    assert json.loads(embedded) == {text: [text]}
    assert Words(f"<script>{embedded}</script>").text == embedded


@given(texts)
def test_spreadsheets_do_not_evaluate_cells(text):
    cell = escaping.csv_cell(text)
    assert not re.match(r"\s*[=+\-@\t\r\n＝＋－＠−]", cell)
    assert cell in (escaping.one_line(text), f"'{escaping.one_line(text)}")
    file = io.StringIO()
    csv.writer(file).writerow([cell, "next"])
    assert next(csv.reader(io.StringIO(file.getvalue()))) == [cell, "next"]


@pytest.mark.parametrize("name", ["=1", "+1", "-1", "−1", "@a", "\t=1", " =1", "\r\n@x", "＝1"])
def test_formulas_get_an_apostrophe(name):
    assert escaping.csv_cell(name).startswith("'")


@given(texts)
def test_markdown_renders_to_the_text(text):
    markdown_it = pytest.importorskip("markdown_it", reason="the Markdown parser comes with the extra 'docs'")
    parser = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    table = f"| a | b |\n|---|---|\n| .{escaping.markdown_text(text)}. | c |\n"
    page = Words(parser.render(table))
    kinds = [tag[0] for tag in page.other]
    assert kinds == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    cells = [cell for cell in page.text.split("\n") if cell]
    assert cells[-2:] == [f".{escaping.one_line(text)}.", "c"]


@given(texts)
def test_latex_has_no_active_characters(text):
    escaped = escaping.latex_text(text)
    # What remains after commands that the table of escapes may write must be inactive.
    rest = re.sub(
        r"\\(text[a-z]+|ldots)\{\}|\$(\\pm|-|\\times|\\sigma|\^2)\$|\\[&%$#_{}]|\{[`'?]?\}|``|''", ".", escaped
    )
    assert not re.search(r"[\\&%$#_{}~^`'<>|]|--", rest), rest
    assert not re.match(r"\s*[\[*]", escaped)


@given(texts)
def test_labels_of_figures_have_no_tags(text):
    label = escaping.figure_label(text)
    assert not re.search("[<>]", label)
    assert Words(label).text == escaping.one_line(text)


@pytest.mark.parametrize("name", NAMES)
def test_terminal_shows_names_as_they_are(capsys, name):
    print_table(name, [name, "x"], [[name, name]])
    say(name)
    shown = capsys.readouterr().out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    if len(name) < 70:
        assert shown.count(escaping.one_line(name)) >= 3


def test_names_between_colons_stay_as_they_are(capsys):
    """Rich would draw a face for them."""
    say("S1:smile:x")
    warn("S1:warning:x")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("S1:smile:x\n", "quatcast: S1:warning:x\n")
