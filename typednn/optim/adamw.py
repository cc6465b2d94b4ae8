"""AdamW: Adam whose weight decay does not pass through the running means.

w ← w·(1 - lr·weight_decay), then Adam's step

Source: Loshchilov and Hutter 2019; defaults are torch.optim.AdamW's.
"""

from collections.abc import Sequence
from typing import final

from typednn.optim.adam import Adam
from typednn.optim.ema import EMA
from typednn.optim.schedule import Schedule
from typednn.optim.settings import Group, Settings


@final
class AdamW(Adam):
    """As `Adam`, with ``weight_decay`` (0.01 unless ``l2`` or ``decay`` is given) taken from the weights themselves."""

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        if weight_decay is None:
            weight_decay = 0.0 if l2 or decay else 1e-2
        super().__init__(
            lr, betas, eps, weight_decay, amsgrad, maximize=maximize, l2=l2, decay=decay, ema=ema, groups=groups
        )

    def decay(self, settings: Settings, lr: float) -> tuple[float, float]:
        return 2.0 * settings.l2, 1.0 - settings.decay - lr * settings.weight_decay
