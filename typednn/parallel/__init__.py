"""Data parallel training over MPI, to the same bits on any number of ranks.

    from typednn.parallel import DataParallel
    fit(model, loss, optimizer, loader, epochs=2, parallel=DataParallel())      mpiexec -n 2 python program.py

A batch is cut into a fixed number of shards, eight by default, whoever computes them. The gradient of each shard is
computed alone, and the shards are summed in one fixed tree. `data_parallel` cuts and sums, `ranks` is what the
processes of a job exchange, and `nccl` what their GPUs do; `sums` adds gradients, and `slices` cuts arrays over the
ranks. `in_flight` is what shards leave that wait in the middle: at a `meeting`, where batch normalisations get the
statistics of all, or in a model that is cut too, a stage on each rank: `cutting`, `stage` and `pipeline`. Needs mpi4py
and an MPI, the extra ``typednn[mpi]``; on one rank nothing.
"""

from typednn.parallel.data_parallel import DataParallel, ExchangeName
from typednn.parallel.ranks import Ranks

__all__ = ["DataParallel", "ExchangeName", "Ranks"]
