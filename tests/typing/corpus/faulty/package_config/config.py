"""The sizes of a model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    width: int = 64
    heads: int = 4
    inner: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", 4 * self.width)

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


default = Config()
