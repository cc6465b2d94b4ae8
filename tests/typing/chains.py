"""The faces of a chain, as type checkers see them: known ends, integers first, any rank kept, erased; and what is done
to any of them.

Read by mypy --strict and by pyright --strict, never run.
"""

from collections.abc import Iterator, Sequence
from typing import Any, assert_type

from typednn import (
    Array2,
    Array4,
    Chain,
    ChainGrad,
    ElementwiseChain,
    ElementwiseGrad,
    Input,
    Layer,
    Module,
    Sequential,
    Stack,
)
from typednn.contracts.operands import Last
from typednn.layers import Conv2d, Conv2dGrad, Flatten, FlattenGrad, Linear, LinearGrad, PReLU, PReLUGrad, ReLU, Tanh

images = Input(28, 28, 1) >> Conv2d(1, 6, 5) >> ReLU() >> Flatten() >> Linear(3456, 10)
assert_type(
    images, Chain[Array4, Array2, Last[Linear[Any]], Conv2dGrad, ElementwiseGrad[Array4, None], FlattenGrad, LinearGrad]
)
assert_type(ReLU() >> PReLU(), ElementwiseChain[None, PReLUGrad])

# the last layer's name refuses nothing: chains that differ in nothing else fit for each other, and for any contract
rectified = Linear(3, 4) >> ReLU()
assert_type(rectified, Chain[Array2, Array2, Last[ReLU], LinearGrad, ElementwiseGrad[Array2, None]])
rectified = Linear(3, 4) >> Tanh()
any_last: Chain[Array2, Array2, str, LinearGrad, ElementwiseGrad[Array2, None]] = rectified
rectified = any_last
several = [Linear(3, 4) >> ReLU(), Linear(3, 4) >> Tanh()]
alike: Sequence[Chain[Array2, Array2, str, LinearGrad, ElementwiseGrad[Array2, None]]] = several

# a slice is a chain whose static types are erased; a place or a name gives one part
assert_type(images[1:3], Sequential[Any])
assert_type((ReLU() >> PReLU())[:1], Sequential[Any])
assert_type(images[0], Module)
assert_type(images["0"], Module)
assert_type(iter(images), Iterator[Module])
assert_type(images.names, tuple[str, ...])
assert_type(
    (Linear(3, 4) >> ReLU()).append(Linear(4, 2)),
    Chain[Array2, Array2, Last[Linear[Any]], LinearGrad, ElementwiseGrad[Array2, None], LinearGrad],
)
assert_type(Sequential([Linear(3, 4)]).append(ReLU()), Sequential[Any])
assert_type(Stack([Linear(3, 4)], input=(3,)).append(ReLU()), Stack[Any])

# what is erased stays one part of a chain
grown = Sequential([Linear(3, 4), ReLU()]) >> Linear(4, 2)
assert_type(grown, Chain[Any, Array2, Last[Linear[Any]], ChainGrad[Any, *tuple[Any, ...]], LinearGrad])


def use(rows: Array2, pictures: Array4) -> None:
    assert_type(images.backward(rows).parts[3].weight, Array2)
    assert_type(Sequential([Linear(3, 4)]).backward(rows), ChainGrad[Any, *tuple[Any, ...]])
    assert_type(Stack([Linear(3, 4)], input=(3,)).backward(rows), ChainGrad[Any, *tuple[Any, ...]])
    assert_type(Stack([Linear(3, 4)], input=(3,)).as_chain(), Sequential[Any])
    layer: Layer[
        Array4, Array2, ChainGrad[Array4, Conv2dGrad, ElementwiseGrad[Array4, None], FlattenGrad, LinearGrad]
    ] = images
    assert_type(layer.forward(pictures), Array2)

    # ------------------------------------------------------------------ refused
    images.append(Conv2d(1, 6, 5))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    images["0":"2"].nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    images.backward(rows).nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
