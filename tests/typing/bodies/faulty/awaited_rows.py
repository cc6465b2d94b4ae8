"""Rows that two coroutines give: they are added without a transposition."""

import asyncio

import numpy as np
from jaxtyping import Float

from typednn import Array2


async def read(x: Float[Array2, "rows 4"]) -> Float[Array2, "rows 4"]:
    await asyncio.sleep(0)
    return 2 * x


async def both(x: Float[Array2, "rows 4"]) -> Array2:
    once = await read(x)
    first, second = await asyncio.gather(read(once), read(x))
    product: Array2 = first @ second  # shape: columns 4
    return product


if __name__ == "__main__":
    print(asyncio.run(both(np.ones((2, 4)))).shape)
