"""A recurrent learner and an oracle that get the same samples."""

import numpy as np


def signal(steps, d, n_inputs, n_outputs, seed=3):
    """Noisy sines with a jump, as inputs (steps, m, d) and targets (steps, p, d)."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 6, (n_inputs, d))
    t = np.arange(steps)[:, None, None]
    u = np.sin(0.3 * t + phase) + 0.1 * rng.normal(size=(steps, n_inputs, d)) + (t > steps // 2)
    y = np.cos(0.3 * t + phase[:n_outputs]) + 0.1 * rng.normal(size=(steps, n_outputs, d))
    return u, y


def public(x, d):
    """A number of d components as learners take it: a real number has no axis of components."""
    return x[:, 0] if d == 1 else x


def side_by_side(learner, oracle, u, y):
    """Largest difference between the predictions of learner and oracle, and the learner's steps."""
    worst, taken, d = 0.0, [], learner.algebra.dimension
    for inputs, targets in zip(u, y, strict=True):
        step = learner.update(public(inputs, d), public(targets, d))
        predicted, _ = oracle.update(inputs, targets)
        worst = max(worst, np.abs(step.prediction - public(predicted, d)).max())
        taken.append(step)
    return worst, taken
