"""The documentation as a site: scripts/site builds it with Sphinx.

The pages are those that are read in the repository, and their links are the same. What the site adds is a search over all of them, a
table of contents, which follows the order of the links in docs/README.md, and what the documentation of the packages says: that of Python in
docs/python-api.md, that of Rust in the folder `rust`, which scripts/site puts there.
"""

import re
import sys
from pathlib import Path

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

ROOT = Path(__file__).resolve().parent.parent
ABOUT = ["ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"]
# Crates that others can use, by what they are for.
CRATES = {"workbench": "the whole pipeline", "tile": "programs in Rust", "compiler": "languages and passes", "sim": "golden, words, array", "arch": "machine and numbers"}

# How the pages call the languages of programs, and what is a keyword in one of them.
LANGUAGES = ["tabla", "tc", "tile", "rink", "pp", "image"]
KEYWORDS = (
    "model_input model_output model gradient iterator output state minimize sum max min pi def where exists function def float"
    " integer index tensor return if else for in let begin end"
).split()

project = "tabla-gen"
html_title = "tabla-gen"
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
# Reads Markdown, too. Notebooks are shown with the outputs that are in them: scripts/python runs them.
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# The package is read and not compiled.
sys.path.insert(0, str(ROOT / "python"))
autodoc_mock_imports = ["numpy", "sklearn", "tabla_gen._native"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
nb_execution_mode = "off"
root_doc = "README"
include_patterns = ["README.md", *(f"{name}.md" for name in ABOUT), "docs/*.md", "docs/**/*.md", "examples/README.md", "python/*.ipynb"]
exclude_patterns = ["**/target/**"]
myst_heading_anchors = 4
# Images with a width are written as HTML.
myst_enable_extensions = ["html_image"]
highlight_language = "none"


def pages():
    """All pages but the first, in the order in which docs/README.md and the pages that it links to name them."""
    found = []

    def visit(page):
        name = page.relative_to(ROOT).with_suffix("").as_posix()
        if name in found or name == root_doc or name in ABOUT:
            return
        found.append(name)
        for target in re.findall(r"\]\(([^)#]+\.(?:md|ipynb))", page.read_text()):
            linked = (page.parent / target).resolve()
            if linked.is_file():
                later.append(linked)

    later = [ROOT / "docs" / "README.md"]
    while later:
        visit(later.pop(0))
    return found + ABOUT


def with_contents(_app, name, source):
    """The first page has the table of contents, beside it and not in it. It and that of docs/ link to what only the site has."""
    if name == root_doc:
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages()) + "\n```\n"
    if name in (root_doc, "docs/README"):
        up = "../" * name.count("/")
        crates = ", ".join(f'<a href="{up}rust/{crate}/index.html"><code>{crate}</code></a> ({what})' for crate, what in CRATES.items())
        source[0] += f'\n<p>Interfaces: <a href="{up}docs/python-api.html">Python</a>; Rust: {crates}</p>\n'


class Program(RegexLexer):
    """A program in one of the input languages: they differ in their words, not in how comments and numbers look."""

    name = "program"
    tokens = {
        "root": [
            (r"(//|#).*$", Comment.Single),
            (r"\$\w*", Name.Builtin),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (r"[A-Za-z_]\w*", Name),
            (r"\d+(\.\d*)?([eE][-+]?\d+)?", Number),
            (r'"[^"]*"', String),
            (r"[-+*/<>=!?:|&]+", Operator),
            (r"\s+", Text),
            (r".", Text),
        ]
    }


def setup(app):
    app.connect("source-read", with_contents)
    for language in LANGUAGES:
        app.add_lexer(language, Program)
