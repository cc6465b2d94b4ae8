"""What attention's kernels share: a head's scores, cut into blocks and tiles, and how these are scheduled.

A block is `Blocks.rows` queries, a tile `Blocks.keys` keys, whole vectors of which lie along the keys. ``i`` is a query
within its block, ``lane`` a key within its tile. Funcs of scores have the axes `Blocks.of_scores`; Halide's run
backwards, the last one of NumPy first.
"""

from __future__ import annotations

from collections.abc import Sequence

from typednn.engines import Cpu, hl, type_of
from typednn.kernels.dropout.cpu import philox
from typednn.kernels.dropout.reference import LANES
from typednn.kernels.elementwise import constant

ROWS = 6  # queries of which products are kept in registers at a time, with a tile of keys
COLUMNS = 4  # likewise keys, in dk and dv, with some features
TILES = 4  # times ROWS: the queries of a block


class Part:
    """q, k or v of an array that has all three, [feature, head, which, place, batch]; read as an array of its own."""

    def __init__(self, packed: hl.ImageParam, which: int) -> None:
        self.packed: hl.ImageParam = packed
        self.which: int = which

    def __getitem__(self, at: tuple[hl.Expr | int, ...]) -> hl.Expr:
        f, h, place, b = at
        return self.packed[f, h, self.which, place, b]

    def dim(self, axis: int) -> hl.Dimension:
        """The size of an axis of [feature, head, place, batch]."""
        return self.packed.dim(axis if axis < 2 else axis + 1)


class Blocks:
    """The queries and keys of all heads."""

    def __init__(
        self,
        cpu: Cpu,
        name: str,
        q: hl.ImageParam | Part,
        k: hl.ImageParam | Part,
        mask: Sequence[hl.ImageParam],
        features: int,
        causal: bool,
    ) -> None:
        self.name: str = name
        self.q: hl.ImageParam | Part = q
        self.k: hl.ImageParam | Part = k
        self.mask: Sequence[hl.ImageParam] = mask
        self.features: int = features
        self.causal: bool = causal
        self.time: hl.Expr = q.dim(2).extent()
        self.memory: hl.Expr = k.dim(2).extent()
        self.real: hl.Type = type_of(q[0, 0, 0, 0])
        self.vector: int = cpu.lanes
        self.keys: int = cpu.lanes * (cpu.registers // 8)
        self.rows: int = ROWS * TILES
        self.tiles: hl.Expr = (self.memory + self.keys - 1) / self.keys
        self.blocks: hl.Expr = (self.time + self.rows - 1) / self.rows
        # Along the features: numbers in a vector, and in a tile of sums.
        self.lanes: int = min(cpu.lanes, features & -features)
        self.width: int = self.lanes * next(
            count for count in range(cpu.registers // 8, 0, -1) if features // self.lanes % count == 0
        )
        self.f: hl.Var = hl.Var("f")
        self.h: hl.Var = hl.Var("h")
        self.b: hl.Var = hl.Var("b")
        self.lane: hl.Var = hl.Var("lane")
        self.tile: hl.Var = hl.Var("tile")
        self.i: hl.Var = hl.Var("i")
        self.block: hl.Var = hl.Var("block")
        self.of_scores: tuple[hl.Var, hl.Var, hl.Var, hl.Var, hl.Var, hl.Var] = (
            self.lane,
            self.tile,
            self.i,
            self.block,
            self.h,
            self.b,
        )
        self.of_rows: tuple[hl.Var, hl.Var, hl.Var, hl.Var] = (self.i, self.block, self.h, self.b)
        # Of what is not attended to: finite, as the compiler may assume that nothing is infinite.
        self.zero: hl.Expr = hl.cast(self.real, 0)
        self.lowest: hl.Expr = constant(self.zero, -3e38 if self.real.bits() == 32 else -1e308)
        self.stack: hl.MemoryType = hl.MemoryType.Stack

    def func(self, name: str) -> hl.Func:
        return hl.Func(f"{self.name}_{name}")

    def query(self, i: hl.Expr, block: hl.Expr) -> hl.Expr:
        """The place of a query; beyond the last one, the last one's."""
        return hl.min(block * self.rows + i, self.time - 1)

    def meets(self, tile: hl.Expr, block: hl.Expr) -> hl.Expr:
        """Whether some query of the block comes no earlier than some key of the tile."""
        return tile * self.keys < (block + 1) * self.rows

    def tiles_of(self, block: hl.Expr) -> hl.RVar:
        """The tiles that a block attends to."""
        tiles = hl.RDom([(0, self.tiles)])
        if self.causal:
            tiles.where(self.meets(tiles.x, block))
        return tiles.x

    def packed(self, name: str, x: hl.ImageParam | Part) -> hl.Func:
        """``x`` of keys with its axes exchanged, tile after tile: [lane, feature, tile, head, batch]."""
        packed, j = self.func(name), hl.min(self.tile * self.keys + self.lane, self.memory - 1)
        packed[self.lane, self.f, self.tile, self.h, self.b] = x[self.f, self.h, j, self.b]
        packed.bound(self.lane, 0, self.keys).vectorize(self.lane, self.vector)
        return packed

    def products(self, name: str, x: hl.ImageParam | Part, packed: hl.Func) -> Products:
        """Σ_f x[f, query]·packed[key, f]."""
        lane, tile, i, block, h, b = self.of_scores
        products, over = self.func(name), hl.RDom([(0, self.features)])
        products[self.of_scores] = self.zero
        products[self.of_scores] += x[over.x, h, self.query(i, block), b] * packed[lane, over.x, tile, h, b]
        return Products(self, products, over.x)

    def score(self, products: hl.Func, tile: hl.Expr, block: hl.Expr) -> hl.Expr:
        """A product scaled; the lowest where the query does not attend to the key."""
        j = tile * self.keys + self.lane
        attended = j < self.memory
        if self.causal:
            attended = attended & (j <= block * self.rows + self.i)
        for mask in self.mask:
            row = (self.query(self.i, block),) if mask.dimensions() == 3 else ()
            attended = attended & mask[(hl.min(j, self.memory - 1), *row, self.b)]
        score = products[self.lane, tile, self.i, block, self.h, self.b] * constant(self.zero, self.features**-0.5)
        return hl.select(attended, score, self.lowest)

    def dropped(self, numbers: Sequence[hl.Expr], tile: hl.Expr, block: hl.Expr) -> tuple[hl.Expr, hl.Func]:
        """What a weight is multiplied by, 0 or 1/(1 - p), and the Func of the words of Philox that say so.

        ``numbers``: 1/(1 - p), the least word that keeps, two words of the key, and how many masks were drawn. The
        words are of a tile, or of the 64 keys that it is a part of.
        """
        words, counter = self.func("words"), hl.Var("counter")
        scale, least, *key = numbers
        least, *key, drawn = (hl.reinterpret(hl.UInt(32), number) for number in (least, *key))
        first, matrix = self.tile * self.keys / (4 * LANES) * LANES, self.b * self.q.dim(1).extent() + self.h
        places = (hl.cast(hl.UInt(32), each) for each in (first + counter, self.query(self.i, self.block), matrix))
        words[(counter, *self.of_scores[1:])] = hl.Tuple(list(philox((*places, drawn), (key[0], key[1]))))
        words.bound_extent(counter, LANES)
        # Key number 16·w + l of 64 has word w of counter l.
        start, counter_of = tile * self.keys % (4 * LANES), self.lane % LANES
        word = start / LANES + self.lane / LANES
        if self.keys < LANES:
            counter_of = tile % (LANES // self.keys) * self.keys + self.lane
        found = [words[(counter_of, tile, self.i, block, self.h, self.b)][number] for number in range(4)]
        bits = hl.select(word == 0, found[0], word == 1, found[1], word == 2, found[2], found[3])
        return hl.select(bits >= least, scale, self.zero), words

    def by_tiles(self, stage: hl.Scheduled, *over: hl.RVar) -> hl.Var:
        """A stage that reads `products`: some rows at a time, in registers, for each tile ``over``; gives the loop over
        rows.
        """
        rows = hl.Var(f"{self.name}_rows")
        stage.split(self.i, rows, self.i, ROWS).reorder(self.lane, self.i, rows, *over)
        self.along_keys(stage).unroll(self.i)
        return rows

    def along_keys(self, stage: hl.Scheduled) -> hl.Scheduled:
        return stage.vectorize(self.lane, self.vector).unroll(self.lane)

    def along_features(self, stage: hl.Scheduled) -> hl.Scheduled:
        return stage.vectorize(self.f, self.lanes).unroll(self.f)

    def sums(self, sums: hl.Func, of: hl.Func, place: hl.Var, count: int, terms: tuple[hl.RVar, ...]) -> None:
        """``of``, computed from ``sums``, for ``count`` places at a time; the sums of a tile of features stay in
        registers.
        """
        features, places = hl.Var("features"), hl.Var("places")
        of.split(place, places, place, count).split(self.f, features, self.f, self.width).reorder(
            self.f, place, features, places
        )
        self.along_features(of).unroll(place)
        self.along_features(sums.compute_at(of, features).store_in(self.stack)).unroll(place)
        self.along_features(sums.update().reorder(self.f, place, *terms)).unroll(place)

    def outputs(
        self, length: hl.Expr, count: int, number: hl.Expr
    ) -> tuple[hl.RDom, hl.Expr, tuple[hl.RVar, hl.RVar, hl.RVar, hl.RVar]]:
        """A domain over all places of an output: (the domain, the place, its coordinates). ``number`` pieces of
        ``count`` each.
        """
        domain = hl.RDom([(0, count), (0, number), (0, self.q.dim(1).extent()), (0, self.q.dim(3).extent())])
        inside, piece, h, b = (domain[axis] for axis in range(4))
        place = piece * count + inside
        domain.where(place < length)
        return domain, hl.unsafe_promise_clamped(place, 0, length - 1), (inside, piece, h, b)


class Products:
    """Products of queries and keys, computed within the tile of a stage that reads them."""

    def __init__(self, blocks: Blocks, func: hl.Func, over: hl.RVar) -> None:
        self.blocks: Blocks = blocks
        self.func: hl.Func = func
        self.over: hl.RVar = over

    def compute_at(self, stage: hl.Func, rows: hl.Var) -> None:
        blocks = self.blocks
        blocks.along_keys(self.func.compute_at(stage, rows).store_in(blocks.stack)).unroll(blocks.i)
        blocks.along_keys(self.func.update().reorder(blocks.lane, blocks.i, self.over)).unroll(blocks.i)
