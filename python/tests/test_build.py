"""Hardware through Python: the folder of the command line, byte for byte; figures, failures, interrupts."""

import os
import pathlib
import signal
import subprocess
import threading
import time
import tomllib

import numpy as np
import pytest

from tabla_gen import Program, errors

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# scripts/python says where it is.
COMMAND = os.environ["TABLA_GEN"]

pytestmark = pytest.mark.filterwarnings("ignore::tabla_gen.TablaWarning")


def command(*arguments, code=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=PROJECT)
    assert done.returncode == code, done.stderr
    return done.stdout


def contents(folder):
    """Name and bytes of every file."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert "SHA256SUMS" in files
    return files


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(PROJECT)


@pytest.mark.parametrize(
    ("program", "board", "arguments", "given"),
    [
        ("programs/logistic.t", "ulx3s-25f", [], {}),
        ("programs/logistic.t", "tangnano9k", [], {}),
        ("programs/linear.t", "zcu102", [], {}),
        ("programs/softmax.t", "ulx3s", ["--data", "examples/iris.csv"], {"data": "examples/iris.csv"}),
        ("programs/autoencoder.tc", "ulx3s", [], {}),
        ("RECORDS", "tiny", ["--resident", "W"], {}),
    ],
)
def test_folders_are_those_of_the_command_line(program, board, arguments, given, tmp_path):
    resident = None
    if program == "RECORDS":
        program, records = tmp_path / "dense.tc", tmp_path / "records.json"
        program.write_text("def dense(float(O,I) W, float(I) x) -> (y) {\n  y(o) +=! W(o,i) * x(i)\n}\n")
        records.write_text('[{"W": [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], "x": [1, 2, 3]}, {"x": [0.5, -0.5, 1]}]')
        arguments, given, resident = [*arguments, "--inputs", records], {"inputs": records}, ["W"]
    one, other = tmp_path / "command", tmp_path / "python"
    command("build", program, "--config", board, "--out", one, "--quiet", *arguments)
    hardware = Program.from_file(program, resident=resident).build(board, other, **given)
    ours, theirs = contents(other), contents(one)
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert sorted([*hardware.files, "SHA256SUMS"]) == sorted(theirs) and hardware.folder == other
    assert str(hardware) == theirs["report.txt"].decode()


def test_figures(tmp_path):
    hardware = Program.from_file("programs/logistic.t").build("ulx3s-25f", tmp_path)
    board = tomllib.loads((PROJECT / "fpga/boards/ulx3s-25f.toml").read_text())
    config = tomllib.loads((PROJECT / "configs/ulx3s-25f.toml").read_text())
    assert hardware.board == config["board"]["name"]
    available = {name: count for name, (_, count) in hardware.resources.items()}
    assert available == {name.upper(): board["resources"][name] for name in ("dsp", "bram", "lut", "ff")}
    assert hardware.fits is True and all(estimated > 0 for estimated, _ in hardware.resources.values())
    # 31 products of the prediction, 31 of the gradient and 31 of the rate on the PEs; 31 inputs and the label over the stream.
    machine = config["machine"]
    bounds = {"multiply-adds": 93 / (machine["pus"] * machine["pes_per_pu"]), "input words": 32 / machine["stream_words"]}
    assert (hardware.bound_by, hardware.bound) == max(bounds.items(), key=lambda bound: bound[1])
    assert hardware.bound <= hardware.cycles_per_sample < 10 * hardware.bound
    assert hardware.samples_per_second == pytest.approx(hardware.clock_mhz * 1e6 / hardware.cycles_per_sample)
    assert "ulx3s-25f" in repr(hardware) and "rtl/logistic.v" in hardware._repr_html_()


def test_no_board_has_no_room(tmp_path):
    hardware = Program.from_file("programs/logistic.t").build("tiny", tmp_path)
    assert hardware.fits is None and hardware.board == "none"


def test_what_does_not_fit_has_a_place_and_a_way_out(tmp_path):
    config = tmp_path / "large.toml"
    config.write_text('[machine]\npus = 16\npes_per_pu = 16\n\n[board]\nname = "ulx3s-25f"\n')
    program, out = "programs/logistic.t", tmp_path / "out"
    command("build", program, "--config", config, "--out", out, code=4)
    for board in (config, config.read_text()):
        with pytest.raises(errors.DoesNotFitError) as caught:
            Program.from_file(program).build(board, out)
        assert caught.value.code == "E-BACKEND" and "would fit" in caught.value.diagnostics[0].help
    assert not out.exists()


@pytest.mark.parametrize(
    ("kind", "code", "do"),
    [
        (errors.FileError, "E-FILE", lambda out: Program.from_file("programs/linear.t").build("no such board", out)),
        (errors.FileError, "E-FILE", lambda out: Program.from_file("programs/linear.t").build("tiny", "/dev/null/out")),
        (errors.FileError, "E-FILE", lambda out: Program.from_file("programs/linear.t").build("tiny", out, data="no.csv")),
        (errors.UsageError, "E-USAGE", lambda out: Program.from_file("programs/linear.t").build("tiny", out, inputs={})),
        (
            errors.UsageError,
            "E-USAGE",
            lambda out: Program.from_file("programs/autoencoder.tc").build("tiny", out, data="examples/iris.csv"),
        ),
    ],
)
def test_failures_by_kind(kind, code, do, tmp_path):
    with pytest.raises(kind) as caught:
        do(tmp_path / "out")
    assert caught.value.code == code, str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_build_of_a_training_has_its_numbers(tmp_path):
    table = np.genfromtxt("examples/breast_cancer.csv", delimiter=",", skip_header=1)
    model = Program.from_file("programs/logistic.t").train(table[:, :-1], table[:, -1].astype(int), epochs=2)
    model.build("ulx3s-25f", tmp_path / "python")
    data = ["--data", "examples/breast_cancer.csv", "--epochs", "2"]
    command("build", "programs/logistic.t", "--config", "ulx3s-25f", "--out", tmp_path / "command", *data)
    ours, theirs = contents(tmp_path / "python"), contents(tmp_path / "command")
    # The report says where the rows came from.
    differing = [name for name in ours if ours[name] != theirs[name]]
    assert sorted(ours) == sorted(theirs) and set(differing) <= {"report.txt", "report.json", "SHA256SUMS"}
    loaded = model.program.load(saved(model, tmp_path))
    with pytest.raises(errors.UsageError):
        loaded.build("ulx3s-25f", tmp_path / "loaded")


def saved(model, folder):
    model.save(folder / "model.json")
    return folder / "model.json"


def test_ctrl_c_ends_a_build_and_nothing_is_written(tmp_path):
    program = Program.from_file("programs/backpropagation.t")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            program.build("zcu102", tmp_path / "out", data="examples/digits.csv")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 2
    time.sleep(1)
    assert list(tmp_path.iterdir()) == []


def test_other_threads_go_on_during_a_build(tmp_path):
    counted, stop = [], threading.Event()

    def count():
        while not stop.is_set():
            counted.append(None)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    Program.from_file("programs/logistic.t").build("ulx3s-25f", tmp_path)
    stop.set()
    thread.join()
    assert len(counted) > 20


def test_the_report_page_is_that_of_the_command_line(tmp_path):
    table = np.genfromtxt("examples/breast_cancer.csv", delimiter=",", skip_header=1)
    program = Program.from_file("programs/logistic.t", config="tiny")
    model = program.train(table[:, :-1], table[:, -1].astype(int), engine="array", epochs=2, curves=True)
    page = model.report(widths=[8, 12, 16, 24])
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page.html
    data = ["--data", "examples/breast_cancer.csv", "--epochs", "2"]
    command("report", "programs/logistic.t", "--config", "tiny", "--out", tmp_path / "theirs", *data)
    theirs = (tmp_path / "theirs" / "report.html").read_text()

    def same(html):
        """Without what repeats the run, and where the rows came from."""
        return [line for line in html.splitlines() if "report " not in line and "programs/" not in line and "(X" not in line]

    assert len(same(theirs)) > 100
    differing = [pair for pair in zip(same(page.html), same(theirs), strict=True) if pair[0] != pair[1]]
    assert len(differing) <= 2, differing
    assert "<iframe srcdoc=" in page._repr_html_() and "&lt;svg" in page._repr_html_()
