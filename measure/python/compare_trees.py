"""Compile every program of the conformance suite and every published benchmark with two versions of the project, and compare what becomes of them.

    cargo measure compare-trees HEAD~5          that commit against the working tree
    cargo measure compare-trees HEAD~5 HEAD     two commits

The same are microcode and stream layout, words and cycles of a run, and the Verilog but for names; the Verilog of the grids of `configs` and of ten
random ones is the same byte for byte. Exit code 1 if something differs.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What writes them.
EXAMPLES = {"sim": "images", "hdl": "grids"}
WORDS = set("""always assign begin case casez default else end endcase endfunction endmodule for function genvar generate
endgenerate if initial input inout integer localparam module negedge or output parameter posedge reg signed wire""".split())


def nameless(verilog):
    """The text with each name as the number of its first use; comments and white space are left out."""
    verilog = re.sub(r"//[^\n]*|/\*.*?\*/", " ", verilog, flags=re.S)
    numbers = {}
    tokens = re.findall(r"\d*'s?[bdhBDH][0-9a-fA-FxzXZ_?]+|[A-Za-z_$][\w$]*|\d+|\S", verilog)
    is_name = lambda token: re.match(r"[A-Za-z_]", token) and token not in WORDS
    return [numbers.setdefault(token, f"#{len(numbers)}") if is_name(token) else token for token in tokens]



def images(source, folder):
    """What a version makes of all programs, in a folder."""
    for package, example in EXAMPLES.items():
        file = source / package / "examples" / f"{example}.rs"
        # Versions that cannot write their images yet get the program that does.
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / package / "examples" / file.name, file)
    # One target per tree: in a shared one what was built of another version would pass for built.
    run = ["cargo", "run", "--quiet", "--manifest-path", source / "Cargo.toml", "--target-dir", ROOT / "target/compare" / source.name]
    subprocess.run([*run, "-p", "sim", "--example", "images", "--", folder], cwd=ROOT, check=True)
    sums = subprocess.run([*run, "-p", "hdl", "--example", "grids", "--", folder / "grids"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    (folder / "grids.sums").write_bytes(sums.stdout)


def files(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def compare(old, new):
    """What differs, a line each."""
    both = sorted(files(old) & files(new))
    wrong = [f"only in one of the two: {path}" for path in sorted(files(old) ^ files(new))]
    for path in both:
        texts = [(folder / path).read_text() for folder in (old, new)]
        if texts[0] != texts[1] and (path.suffix != ".v" or path.parts[0] == "grids" or nameless(texts[0]) != nameless(texts[1])):
            wrong.append(f"differs: {path}")
    if not both:
        wrong.append("there is nothing to compare")
    print("\n".join(wrong) or f"{len(both)} files are the same")
    return wrong


def main():
    versions = sys.argv[1:]
    if len(versions) not in (1, 2):
        sys.exit("usage: compare-trees OLD [NEW]")
    with tempfile.TemporaryDirectory() as work:
        made, trees = [], []
        try:
            for version in versions:
                tree = Path(work, f"tree{len(trees)}")
                subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, version], cwd=ROOT, check=True)
                trees.append(tree)
            for number, source in enumerate([*trees, ROOT][:2]):
                made.append(Path(work, f"images{number}"))
                images(source, made[-1])
            wrong = compare(*made)
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=False)
    sys.exit(bool(wrong))


main()
