"""The extended labels of CTC, a blank around each."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1


def forward_table(log_p: Float[Array2, "time classes"], labels: Integer[IntArray1, " length"]) -> Float[Array2, "time 2*length+1"]:
    extended = np.zeros(2 * labels.shape[0] + 1, np.int64)
    extended[1::2] = labels
    table = np.full((log_p.shape[0], extended.shape[0]), -np.inf)
    table[0, :2] = log_p[0, extended[:2]]
    for t in range(1, log_p.shape[0]):
        table[t] = log_p[t, extended] + table[t - 1]
        table[t, 1:] = np.logaddexp(table[t, 1:], log_p[t, extended[1:]] + table[t - 1, :-1])
    return table


if __name__ == "__main__":
    print(forward_table(np.ones((7, 5)), np.array([1, 3, 2])).shape)
