"""Array libraries and devices, the cost of importing quatcast, and the memory of a long run."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from quatcast import LMS, MCC, QLMS, QRNN, RNN, SGD, Adam, ComplexRNN, Learner
from quatcast.algebra import backend, device_of, fetch, place

LEARNERS = {
    "lms": (LMS, {"optimizer": SGD(learning_rate=[0.01, 0.1])}),
    "qlms": (QLMS, {"loss": MCC(sigma=2.0)}),
    "rnn": (RNN, {"hidden": (4,), "activation": "sigmoid"}),
    "complex-rnn": (ComplexRNN, {"hidden": (3,), "activation": "relu"}),
    "qrnn": (QRNN, {"hidden": (4,), "loss": MCC(sigma=[1.0, 2.0]), "seeds": [1, 2]}),
    "qrnn-deep": (
        QRNN,
        {
            "hidden": (3, 3),
            "loss": MCC(sigma="adaptive", scope="channel"),
            "optimizer": Adam(learning_rate=0.01, clip=1.0),
        },
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("device", ["array_api_strict", "torch"])
def test_equals_numpy(device, name, tmp_path):
    pytest.importorskip(device)
    kind, settings = LEARNERS[name]
    rng, d = np.random.default_rng(0), kind.algebra.dimension
    tail = () if d == 1 else (d,)
    here, there = kind(**settings), kind(**settings, device=device)
    for n in range(60):
        u, y = rng.normal(size=(3, *tail)), rng.normal(size=(2, *tail))
        expected, found = here.update(u, y), there.update(u, y)
        np.testing.assert_allclose(found.prediction, expected.prediction, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.gradient_norm, expected.gradient_norm, rtol=1e-11)
        np.testing.assert_allclose(there.predict(u, u), here.predict(u, u), rtol=0, atol=1e-12)
        assert found.depth == expected.depth
        if n == 30:
            there.save(tmp_path / "there.npz")
            there = Learner.load(tmp_path / "there.npz")
            assert there.device == device
    for key, array in here.parameters().items():
        np.testing.assert_allclose(there.parameters()[key], array, rtol=0, atol=1e-12)


def test_place_and_fetch_round_trip():
    array = np.arange(6.0).reshape(2, 3)
    assert place(array, "cpu") is array
    there = place(array, "array_api_strict")
    assert type(there).__module__.startswith("array_api_strict")
    array[0, 0] = 9.0
    np.testing.assert_array_equal(fetch(there), np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("device", ["cpu", "array_api_strict", "torch"])
def test_device_of_undoes_place(device):
    if device != "cpu":
        pytest.importorskip(device)
    assert device_of(place(np.zeros(3), device)) == device


@pytest.mark.parametrize(
    ("library", "where", "installed", "device"),
    [
        ("torch", "cuda", {"torch"}, "cuda"),
        ("torch", "cpu", {"torch"}, "torch"),
        ("cupy", "cuda", {"cupy"}, "cuda"),
        ("cupy", "cuda", {"cupy", "torch"}, "cupy"),
    ],
)
def test_device_of_arrays_on_a_gpu(library, where, installed, device, monkeypatch):
    """With both libraries installed "cuda" means PyTorch, so that an array of CuPy needs the other word."""
    array = SimpleNamespace(device=SimpleNamespace(type=where))
    compat = SimpleNamespace(__name__=f"array_api_compat.{library}")
    monkeypatch.setitem(backend._namespaces, SimpleNamespace, compat)
    monkeypatch.setattr(backend, "find_spec", lambda name: name in installed or None)
    assert device_of(array) == device


@pytest.mark.parametrize("device", ["evil_module", "evil_module.inner", "os", "", "CUDA"])
def test_unknown_devices_are_refused_and_never_imported(device, tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text("from numpy import asarray\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=f'device: expected "cpu" or "cuda", got \'{device}\''):
        place(np.zeros(3), device)
    assert "evil_module" not in sys.modules


@pytest.mark.parametrize(
    ("device", "words"),
    [("cuda", '"cuda" needs PyTorch or CuPy, which is not installed'), ("cupy", '"cupy" needs cupy, which is not')],
)
def test_a_missing_library_is_named(device, words, monkeypatch):
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    backend._backend.cache_clear()
    with pytest.raises(ValueError, match=words):
        place(np.zeros(3), device)


def test_a_missing_gpu_is_named(monkeypatch):
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(backend, "find_spec", lambda name: name == "torch")
    monkeypatch.setattr(backend, "import_module", lambda name: torch)
    backend._backend.cache_clear()
    with pytest.raises(ValueError, match='"cuda" needs a GPU, but PyTorch finds none'):
        place(np.zeros(3), "cuda")


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def test_import_is_light():
    heavy = "plotly typer rich pooch torch dask distributed autograd"
    loaded = run(f"import sys, quatcast; print(*[name for name in '{heavy}'.split() if name in sys.modules])")
    assert loaded == []


@pytest.mark.slow
def test_memory_is_flat_over_10_000_updates():
    """Compare the peak memory of a separate process after 2,500 and after 10,000 updates, in kilobytes."""
    pytest.importorskip("resource")
    first, last = run("""
import resource
import numpy as np
from quatcast import MCC, RNN
rng = np.random.default_rng(0)
learner = RNN((2,), loss=MCC(sigma="adaptive"), max_depth=4)
u, d = rng.normal(size=(100, 1)), rng.normal(size=(100, 1))
for n in range(10_000):
    learner.update(u[n % 100], d[n % 97])
    if n in (2_500, 9_999):
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
""")
    assert int(last) - int(first) < 256
