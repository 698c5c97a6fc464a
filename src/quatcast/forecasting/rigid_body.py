"""Linear prediction of rigid bodies: position and orientation together, in the frame of the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quatcast.algebra.quaternion import rotation_matrix
from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.linear import AdaptiveLinear, LinearState


@dataclass
class RigidBodyState(LinearState):
    """What is remembered of rigid bodies: `frame` (channels, 3, 3) turns vectors of the body to the room."""

    frame: Floats


class RigidBody(AdaptiveLinear):
    """Forecast how bodies move and turn, in the frame of the bodies, by linear regression with forgetting.

    A hand that holds a tool pushes, pulls and tilts it about axes that turn with the tool. What is linear in the frame
    of the body is not linear in the room, and its translation helps to predict its rotation, and vice versa. So with R
    the orientation of the newest sample, positions x and coordinates y of orientations (see `quatcast.Orientation`),
    the input and the target of `AdaptiveLinear` become

        φ = (Rᵀ(x(t−k) − x(t)), Rᵀ(x(t) − x̄), y(t−k) − y(t), R),    d = (Rᵀ(x(t+h) − x(t)), y(t+h) − y(t)),

    with x̄ the running mean of the positions. R is a part of the input because the next motion depends on the
    orientation of the body in the room.

    The caller passes the orientations to `orient` before each `forecast`; before the first call R is the identity.

    Parameters
    ----------
    horizon, lags, memory, regularization, horizons
        As in `AdaptiveLinear`.
    space
        "pose", two rows of coordinates per channel, first all positions and then all orientations; or "orientation".

    Examples
    --------
    A body flies a helix: it moves along one of its own axes and turns about another.

    >>> from quatcast import Guarded, quaternion
    >>> turn = quaternion.from_rotation_vector(np.outer(np.arange(400), [0.03, 0.0, 0.06]))
    >>> step = quaternion.vector(quaternion.rotation(quaternion.pure([1.0, 0.0, 0.0]), turn))
    >>> poses = np.concatenate([np.cumsum(step, axis=0), turn], axis=-1)[:, None, :]
    >>> forecasts = Guarded(RigidBody(20), rate=50.0, space="pose").run(poses)
    >>> errors = forecasts.positions - poses
    >>> bool(np.abs(errors[300:]).max() < 0.01)
    True
    """

    state: RigidBodyState

    def __init__(
        self,
        horizon: int,
        lags: int = 8,
        *,
        memory: float = 2000.0,
        regularization: float = 0.1,
        horizons: Sequence[int] | None = None,
        space: str = "pose",
    ) -> None:
        super().__init__(horizon, lags, memory=memory, regularization=regularization, horizons=horizons)
        if space not in ("pose", "orientation"):
            raise ValueError(f'space: expected "pose" or "orientation", got {space!r}')
        self.space = space
        self._kinds = 2 if space == "pose" else 1

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for coordinates of a shape (rows, 3)."""
        if shape[0] % self._kinds or shape[1] != 3:
            raise ValueError(f"sample: expected coordinates of poses or orientations, shape (rows, 3), got {shape}")
        super().begin(shape)
        frame = np.tile(np.eye(3), (shape[0] // self._kinds, 1, 1))
        self.state = RigidBodyState(**vars(self.state), frame=frame)

    def orient(self, orientations: Floats) -> None:
        """Take in the orientations of the next sample, unit quaternions (channels, 4)."""
        self.state.frame = rotation_matrix(orientations)

    def _parts(self) -> tuple[int, ...]:
        moved = (self.lags,) if self._kinds == 2 else ()
        return (*moved, self.lags - 1, 3)

    def _input(self, steps: Floats) -> Floats:
        frame = self.state.frame
        n = len(frame)
        by_channel = steps.transpose(1, 0, 2)
        moved = [by_channel[:n] @ frame] if self._kinds == 2 else []
        return np.concatenate([part.reshape(n, -1) for part in (*moved, by_channel[-n:, :-1], frame)], axis=-1)

    def _target(self, displacement: Floats, phi: Floats) -> Floats:
        if self._kinds == 1:
            return displacement
        n = len(phi)
        return np.concatenate([(displacement[:n, None, :] @ _frame(phi))[:, 0], displacement[n:]], axis=-1)

    def _displacements(self, moved: Floats, phi: Floats) -> Floats:
        if self._kinds == 1:
            return moved.swapaxes(0, 1)
        return np.concatenate([moved[:, ::2] @ _frame(phi).mT, moved[:, 1::2]]).swapaxes(0, 1)

    def _together(self, observed: Bools) -> Bools:
        return np.asarray(observed.reshape(self._kinds, -1).all(axis=0))


def _frame(phi: Floats) -> Floats:
    """Return R (channels, 3, 3), the end of an input."""
    return phi[:, -9:].reshape(-1, 3, 3)
