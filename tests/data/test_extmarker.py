"""The ExtMarker loader, on artificial files with the same peculiarities and on the real files if available."""

import hashlib
import importlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from quatcast.data import extmarker

module = importlib.import_module("quatcast.data.extmarker_files")


def test_peculiarities_of_the_files(fake_extmarker):
    recordings = extmarker(fake_extmarker)
    assert [r.group[0] for r in recordings] == list("iriirrirr")
    assert [r.name for r in recordings[:4]] == ["extmarker-1-T", "extmarker-2-N", "extmarker-3-NO", "extmarker-4-LT"]
    assert recordings[0].channels == ("LAC", "UAC", "UCC")
    assert recordings[5].channels == ("LAC", "LAR", "UAR")
    for recording in recordings:
        assert recording.rate == 10.0
        assert recording.times.tolist() == [0.0, 6 / 60, 13 / 60, 19 / 60]
        expected = [[[0.0, k / 2, -k / 4]] * 3 for k in range(4)]
        np.testing.assert_allclose(recording.positions, expected, atol=1e-12)


def test_a_missing_file_is_named(fake_extmarker):
    names = sorted(module.CHECKSUMS)
    (fake_extmarker / names[4]).unlink()
    with pytest.raises(FileNotFoundError, match=names[4]):
        extmarker(fake_extmarker)
    with pytest.raises(FileNotFoundError, match="and 26 more"):
        extmarker(fake_extmarker / "nowhere")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("13;25,6;", "13;25,6;oops;", "line 4.*oops"),
        ("13;25,6;", "13;", "line 4"),
        ("13;25,6;", "6;25,6;", "line 4: expected increasing"),
        ("6;100;", "6;100;inf;", "line 3"),
        ('"Frame"', '"Time"', "line 1.*header"),
        ("13;25,6;", "13;25,6;\N{LATIN SMALL LETTER E WITH ACUTE}", "line 4"),
        ("13;25,6;", "12;25,6;", "expected the frames of"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(fake_extmarker, old, new, words):
    path = fake_extmarker / sorted(module.CHECKSUMS)[7]
    path.write_bytes(path.read_bytes().replace(old.encode(), new.encode("latin-1")))
    with pytest.raises(ValueError, match=words) as caught:
        extmarker(fake_extmarker)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("content", ["", '"Frame";"Timestamp";"x";"y";"z"\r\n0;0;0;0;0\r\n'])
def test_an_empty_file_is_named(fake_extmarker, content):
    path = fake_extmarker / sorted(module.CHECKSUMS)[0]
    path.write_text(content)
    with pytest.raises(ValueError, match=path.name):
        extmarker(fake_extmarker)


def test_importing_the_package_loads_nothing_heavy():
    heavy = ["pooch", "plotly", "rich", "typer", "requests"]
    code = f"import sys, quatcast.data; print([m for m in {heavy} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert answer.stdout.strip() == "[]"


def test_real_files_are_the_published_ones(extmarker_folder):
    for name, checksum in module.CHECKSUMS.items():
        assert hashlib.sha256((extmarker_folder / name).read_bytes()).hexdigest() == checksum


def test_real_recordings_have_the_expected_values(extmarker_folder):
    recordings = extmarker(extmarker_folder)
    assert [len(r) for r in recordings] == [2220, 1383, 1297, 1422, 1307, 1171, 726, 3199, 3061]
    assert [r.group for r in recordings].count("regular") == 5
    first = recordings[0]
    np.testing.assert_allclose(first.times[[0, 1, 2, -1]], [0.0, 7 / 60, 13 / 60, 221.95])
    np.testing.assert_allclose(first.positions[0], 0.0)
    np.testing.assert_allclose(first.positions[1, 0], [0.0, 0.2, -0.5], atol=1e-9)
    np.testing.assert_allclose(first.positions[1, 1], [-0.1, 0.1, 0.0], atol=1e-9)
    np.testing.assert_allclose(first.positions[2, 0], [0.0, 0.1, -0.8], atol=1e-9)
    np.testing.assert_allclose(first.positions[-1, 0], [2.9, -1.9, 2.2], atol=1e-9)
    for recording in recordings:
        frames = np.diff(recording.times) * 60
        assert set(np.round(frames, 6)) <= {6.0, 7.0}


def test_persistence_on_the_real_recordings_gives_the_published_numbers(extmarker_folder):
    """Compute the scores from their definitions, with the 3-D error of each marker from sample 601 on."""
    mae, rmse, jitter = [], [], []
    for recording in extmarker(extmarker_folder):
        markers = [recording.positions[:, m].tolist() for m in range(3)]
        for horizon in range(1, 21):
            tested = range(600, len(recording))
            errors = [math.dist(p[t], p[t - horizon]) for p in markers for t in tested]
            steps = [math.dist(p[t + 1 - horizon], p[t - horizon]) for p in markers for t in tested[:-1]]
            mae.append(sum(errors) / len(errors))
            rmse.append(math.sqrt(sum(e * e for e in errors) / len(errors)))
            jitter.append(sum(steps) / len(steps))
    means = [sum(values) / len(values) for values in (mae, rmse, jitter)]
    assert means == pytest.approx([3.267, 4.243, 0.4395], abs=0.001)
