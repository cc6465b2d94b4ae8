"""Arrays of another library, whose methods share names with NumPy's and mean something else."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float


@dataclass(frozen=True)
class Tensor:
    """Its sizes alone; ``transpose`` swaps two axes, and ``max`` of an axis gives two tensors."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    def transpose(self, first: int, second: int) -> Tensor:
        sizes = list(self.shape)
        sizes[first], sizes[second] = sizes[second], sizes[first]
        return Tensor(tuple(sizes))

    def max(self, axis: int) -> tuple[Tensor, Tensor]:
        left = self.shape[:axis] + self.shape[axis + 1 :]
        return Tensor(left), Tensor(left)

    def sum(self, *axes: int) -> Tensor:
        return Tensor(tuple(size for axis, size in enumerate(self.shape) if axis not in axes))

    def reshape(self, *sizes: int) -> Tensor:
        return Tensor(sizes)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """Every matrix of a stack of matrices, transposed."""
        return self.transpose(len(self.shape) - 2, len(self.shape) - 1)

    def __mul__(self, other: Tensor) -> Tensor:
        return self

    def __sub__(self, other: Tensor) -> Tensor:
        return self

    def __matmul__(self, other: Tensor) -> Tensor:
        return self

    def copy(self) -> Tensor:
        """Without the first axis."""
        return Tensor(self.shape[1:])


def weigh(x: Float[Tensor, "... columns"]) -> Float[Tensor, "... columns"]:
    return x


def swapped(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "columns rows"]:
    y = weigh(x).transpose(0, 1)
    return y


def largest(x: Float[Tensor, "rows columns"]) -> Float[Tensor, " rows"]:
    values, _ = weigh(x).max(1)
    return values


def matrices(x: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "batch columns rows"]:
    y = x.T
    weigh(y.sum(0))
    return y


def total(x: Float[Tensor, "batch rows columns"]) -> Float[Tensor, " batch"]:
    y = x.sum(1, 2)
    weigh(x.sum(0))
    return y


def without_first(x: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "rows columns"]:
    return weigh(x.copy())


def tall(x: Float[Tensor, "3 2"]) -> Float[Tensor, "3 2"]:
    return x


def wide(x: Float[Tensor, "2 3"]) -> Float[Tensor, "2 3"]:
    return x


def turned(x: Float[Tensor, "2 3"]) -> Float[Tensor, "2 3"]:
    y = wide(tall(x.transpose(0, 1)).T)
    tall(y.transpose(1, 0).reshape(3, 2))
    return y


def narrow(x: Float[Tensor, "4 2 3"]) -> Float[Tensor, "4 3 2"]:
    tall(x.sum(0).transpose(0, 1))
    wide(x.copy())
    largest(wide(x.max(0)[1]))
    return weigh(x.T)


def of_its_own(x: Float[Tensor, "2 3"], y: Float[Tensor, "3 2"]) -> Float[Tensor, "2 3"]:
    wide(x * y)
    tall(y - x)
    return wide(wide(x) @ wide(x))


if __name__ == "__main__":
    x, y = Tensor((2, 3)), Tensor((4, 2, 3))
    print(turned(x).shape, narrow(y).shape, of_its_own(x, x.T).shape)
    print(swapped(x).shape, largest(x).shape, matrices(y).shape, total(y).shape, without_first(y).shape)
