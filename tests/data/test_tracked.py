"""Loaders of the BROAD recordings and the traces of tumours, on artificial files of the same format."""

import importlib
import struct
import zlib

import numpy as np
import pytest

from quatcast import quaternion
from quatcast.data import broad, find_source, tumours
from quatcast.data.matlab import read_matlab

broad_module = importlib.import_module("quatcast.data.broad_files")
tumour_module = importlib.import_module("quatcast.data.tumour_files")


def element(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(name, array, order="<", compress=True, code=9, array_class=6):
    """One array as the format describes it: flags, sizes, name and numbers, column after column."""
    sizes = struct.pack(f"{order}{array.ndim}i", *array.shape)
    numbers = array.ravel(order="F").astype(order + {9: "f8", 2: "u1", 5: "i4"}[code]).tobytes()
    parts = [(6, struct.pack(f"{order}II", array_class, 0)), (5, sizes), (1, name.encode()), (code, numbers)]
    whole = element(14, b"".join(element(kind, part, order) for kind, part in parts), order)
    if not compress:
        return whole
    packed = zlib.compress(whole)
    return struct.pack(f"{order}II", 15, len(packed)) + packed


def matlab_file(path, *arrays, order="<"):
    mark = b"IM" if order == "<" else b"MI"
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(f"{order}H", 0x0100) + mark + b"".join(arrays))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("compress", [True, False])
def test_numbers_of_matlab_files(tmp_path, order, compress):
    array = np.arange(6.0).reshape(2, 3) / 7
    # Small elements hold size, type and content in eight bytes.
    sizes = element(6, struct.pack(f"{order}II", 9, 0), order) + element(5, struct.pack(f"{order}2i", 1, 2), order)
    name, numbers = struct.pack(f"{order}I2s2x", 2 << 16 | 1, b"ab"), struct.pack(f"{order}IBB2x", 2 << 16 | 2, 7, 8)
    small = element(14, sizes + name + numbers, order)
    text = matrix("text", np.array([[97.0]]), order, compress, array_class=4)
    whole = matrix("whole", np.array([[1, -2]]), order, compress, code=5, array_class=12)
    matlab_file(tmp_path / "x.mat", matrix("x", array, order, compress), text, whole, small, order=order)
    found = read_matlab(tmp_path / "x.mat")
    assert list(found) == ["x", "whole", "ab"]
    np.testing.assert_array_equal(found["x"], array)
    np.testing.assert_array_equal(found["whole"], [[1, -2]])
    np.testing.assert_array_equal(found["ab"], [[7, 8]])


def test_damaged_matlab_files_are_named(tmp_path):
    path = tmp_path / "x.mat"
    for content, message in (
        (b"no", "not a MATLAB file of version 5"),
        (b"MATLAB 7.3".ljust(200), "not a MATLAB file"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_matlab(path)
    matlab_file(path, matrix("x", np.ones((100, 4))))
    whole = path.read_bytes()
    for cut in (129, 140, len(whole) - 5):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"x.mat: damaged MATLAB file"):
            read_matlab(path)


def trial(path, samples=23, rate=2000 / 7, **changes):
    """Write a trial in which the board moves along x and turns about z; it is lost at sample 10."""
    time = np.arange(samples) / rate
    pos = np.stack([time, 0 * time, 0 * time + 1], axis=1)
    quat = quaternion.from_rotation_vector(np.stack([0 * time, 0 * time, time], axis=1))
    pos[10], quat[10] = np.nan, np.nan
    arrays = {"imu_acc": np.zeros((samples, 3)), "opt_pos": pos, "opt_quat": quat, "sampling_rate": np.array([[rate]])}
    matlab_file(path, *(matrix(name, array) for name, array in {**arrays, **changes}.items() if array is not None))


def test_broad_gives_poses(tmp_path):
    (tmp_path / "data_mat").mkdir()
    for name in ("21_undisturbed_fast_combined", "24_disturbed_tapping_A"):
        trial(tmp_path / "data_mat" / f"{name}.mat")
    (tmp_path / "data_mat" / "trials.json").write_text("{}")
    first, second = broad(tmp_path)
    assert (first.name, first.group, second.group) == ("broad-21_undisturbed_fast_combined", "undisturbed", "disturbed")
    assert (first.space, first.units, first.channels) == ("pose", ("m",), ("board",))
    assert first.rate == pytest.approx(400 / 7)
    assert first.positions.shape == (5, 1, 7)
    np.testing.assert_allclose(first.times, np.arange(5) * 0.0175)
    assert np.isnan(first.positions[2]).all()
    np.testing.assert_allclose(first.positions[1, 0, :3], [0.0175, 0, 1])
    np.testing.assert_allclose(first.positions[1, 0, 3:], [np.cos(0.0175 / 2), 0, 0, np.sin(0.0175 / 2)])
    (whole, _) = find_source("broad").load(data_dir=tmp_path / "data_mat")
    np.testing.assert_array_equal(whole.positions, first.positions)
    assert len(broad(tmp_path, every=1)[0]) == 23


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"opt_quat": None}, r"expected opt_pos \(n, 3\), opt_quat \(n, 4\) and sampling_rate"),
        ({"opt_quat": np.zeros((22, 4))}, r"got \{'opt_pos': \(23, 3\), 'opt_quat': \(22, 4\)"),
        ({"opt_quat": np.full((23, 4), 0.4)}, "expected unit quaternions, got the norm 0.8 at sample 0"),
        ({"sampling_rate": np.array([[100.0]])}, "expected a sampling rate of 285.71 Hz, got 100"),
    ],
)
def test_broad_refuses_other_content(tmp_path, changes, message):
    path = tmp_path / "39_disturbed_mixed.mat"
    trial(path, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        broad(tmp_path)
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match="every: expected a positive whole number, got 0"):
        broad(tmp_path, every=0)


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """Files in the two formats, with twelve samples at (k, k/4, −k) each, and checksums that belong to them."""
    folder = tmp_path / "Robot traces"
    folder.mkdir()
    k = np.arange(12.0)
    expected = np.stack([k, k / 4, -k], axis=1)
    lung = ["trajectory", *("\t".join(f"{v:.6f}" for v in row) for row in expected for _ in range(5))]
    liver = ["0 0 0 0 0 0 0", "0.2 1 1 1 0 0 0"]
    liver += [f"{0.4 + 0.2 * i:g} {x:g} {y:g} {z:g} 0 0 0 " for i, (x, y, z) in enumerate(expected)] + [
        "9 9 9 9 0 0 0",
        "",
    ]
    made = []
    for trace in tumour_module.TRACES:
        is_lung = trace.file.startswith("Hexa")
        (folder / trace.file).write_text("\r\n".join(lung) + "\r\n" if is_lung else "\n".join(liver))
        made.append(trace._replace(samples=12, checksum=tumour_module.checksum_of(expected)))
    monkeypatch.setattr(tumour_module, "TRACES", tuple(made))
    return folder, expected


def test_tumours_are_read_from_both_formats(traces):
    folder, expected = traces
    recordings = tumours(folder.parent)
    assert [r.name for r in recordings] == [trace.name for trace in tumour_module.TRACES]
    assert [r.rate for r in recordings] == [10.0, 5.0, 5.0, 5.0, 5.0]
    for recording in recordings:
        np.testing.assert_array_equal(recording.positions[:, 0], expected)
        assert recording.units == ("mm",)
        assert recording.times[-1] == pytest.approx(11 / recording.rate)
    assert len(find_source("tumours").load(data_dir=folder)) == 5


def test_tumours_are_downloaded_once_and_checked(traces, server, tmp_path, monkeypatch):
    folder, expected = traces
    server.folder = folder
    monkeypatch.setenv("QUATCAST_CACHE", str(tmp_path / "cache"))
    names = [trace.file for trace in tumour_module.TRACES]
    wrong = folder / names[2]
    content = wrong.read_text()
    for spoilt in (content.replace("0.25", "0.26"), "<html>moved</html>"):
        wrong.write_text(spoilt)
        with pytest.raises(ConnectionError, match=rf"{names[2]}: the received file does not contain the published num"):
            tumours(base_url=server.url)
        assert sorted(path.name for path in (tmp_path / "cache" / "tumours").iterdir()) == sorted(names[:2])
    assert find_source("tumours").state == "to be downloaded"
    wrong.write_text(content)
    recordings = tumours(base_url=server.url)
    np.testing.assert_array_equal(recordings[2].positions[:, 0], expected)
    assert [server.asked[name] for name in names] == [1, 1, 3, 1, 1]
    assert find_source("tumours").state == "available"
    assert len(find_source("tumours").load()) == 5
    assert server.asked.total() == 7


def test_other_numbers_and_missing_files_are_named(traces):
    folder, _ = traces
    path = folder / tumour_module.TRACES[1].file
    content = path.read_text()
    path.write_text(content.replace("0.25", "0.26"))
    with pytest.raises(ValueError, match=r"RegularBreathing70s_robot.txt: expected the published numbers, got others"):
        tumours(folder)
    path.write_text(content.replace("0.4 0 0", "0.4 zero 0"))
    with pytest.raises(ValueError, match=r"robot.txt, line 3: expected numbers separated by spaces, got '0.4 zero"):
        tumours(folder)
    path.unlink()
    with pytest.raises(
        FileNotFoundError, match=r"expected LiverTraj_Regular.* get it from https://raw.githubusercontent"
    ):
        tumours(folder)
