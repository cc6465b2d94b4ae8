"""What attention's kernels share: a head's scores, cut into blocks and tiles, and how these are scheduled.

A block is `Blocks.rows` queries, a tile `Blocks.keys` keys, whole vectors of which lie along the keys. ``i`` is a query
within its block, ``lane`` a key within its tile. Funcs of scores have the axes `Blocks.of_scores`; Halide's run
backwards, the last one of NumPy first.
"""

from collections.abc import Sequence
from typing import Any

from typednn.engines import Cpu, type_of
from typednn.kernels.dropout.cpu import philox
from typednn.kernels.dropout.reference import LANES
from typednn.kernels.elementwise import constant

ROWS = 6  # queries of which products are kept in registers at a time, with a tile of keys
COLUMNS = 4  # likewise keys, in dk and dv, with some features
TILES = 8  # times ROWS: the queries of a block


class Blocks:
    """The queries and keys of all heads."""

    def __init__(
        self, hl: Any, cpu: Cpu, name: str, q: Any, k: Any, mask: Sequence[Any], features: int, causal: bool
    ) -> None:
        self.hl: Any = hl
        self.name: Any = name
        self.q: Any = q
        self.k: Any = k
        self.mask: Any = mask
        self.features: Any = features
        self.causal: Any = causal
        self.time: Any = q.dim(2).extent()
        self.memory: Any = k.dim(2).extent()
        self.real: Any = type_of(q[0, 0, 0, 0])
        self.vector: Any = cpu.lanes
        self.keys: Any = cpu.lanes * (cpu.registers // 8)
        self.rows: Any = ROWS * TILES
        self.tiles: Any = (self.memory + self.keys - 1) / self.keys
        self.blocks: Any = (self.time + self.rows - 1) / self.rows
        # Along the features: numbers in a vector, and in a tile of sums.
        self.lanes: Any = min(cpu.lanes, features & -features)
        self.width: Any = self.lanes * next(
            count for count in range(cpu.registers // 8, 0, -1) if features // self.lanes % count == 0
        )
        self.f: Any = hl.Var("f")
        self.h: Any = hl.Var("h")
        self.b: Any = hl.Var("b")
        self.lane: Any = hl.Var("lane")
        self.tile: Any = hl.Var("tile")
        self.i: Any = hl.Var("i")
        self.block: Any = hl.Var("block")
        self.of_scores: Any = (self.lane, self.tile, self.i, self.block, self.h, self.b)
        self.of_rows: Any = (self.i, self.block, self.h, self.b)
        # Of what is not attended to: finite, as the compiler may assume that nothing is infinite.
        self.zero: Any = hl.cast(self.real, 0)
        self.lowest: Any = constant(hl, self.zero, -3e38 if self.real.bits() == 32 else -1e308)
        self.stack: Any = hl.MemoryType.Stack

    def func(self, name: str) -> Any:
        return self.hl.Func(f"{self.name}_{name}")

    def query(self, i: Any, block: Any) -> Any:
        """The place of a query; beyond the last one, the last one's."""
        return self.hl.min(block * self.rows + i, self.time - 1)

    def meets(self, tile: Any, block: Any) -> Any:
        """Whether some query of the block comes no earlier than some key of the tile."""
        return tile * self.keys < (block + 1) * self.rows

    def tiles_of(self, block: Any) -> Any:
        """The tiles that a block attends to."""
        tiles = self.hl.RDom([(0, self.tiles)])
        if self.causal:
            tiles.where(self.meets(tiles.x, block))
        return tiles.x

    def packed(self, name: str, x: Any) -> Any:
        """``x`` of keys with its axes exchanged, tile after tile: [lane, feature, tile, head, batch]."""
        packed, j = self.func(name), self.hl.min(self.tile * self.keys + self.lane, self.memory - 1)
        packed[self.lane, self.f, self.tile, self.h, self.b] = x[self.f, self.h, j, self.b]
        packed.bound(self.lane, 0, self.keys).vectorize(self.lane, self.vector)
        return packed

    def products(self, name: str, x: Any, packed: Any) -> "Products":
        """Σ_f x[f, query]·packed[key, f]."""
        lane, tile, i, block, h, b = self.of_scores
        products, over = self.func(name), self.hl.RDom([(0, self.features)])
        products[self.of_scores] = self.zero
        products[self.of_scores] += x[over.x, h, self.query(i, block), b] * packed[lane, over.x, tile, h, b]
        return Products(self, products, over.x)

    def score(self, products: Any, tile: Any, block: Any) -> Any:
        """A product scaled; the lowest where the query does not attend to the key."""
        hl, j = self.hl, tile * self.keys + self.lane
        attended = j < self.memory
        if self.causal:
            attended = attended & (j <= block * self.rows + self.i)
        for mask in self.mask:
            row = (self.query(self.i, block),) if mask.dimensions() == 3 else ()
            attended = attended & mask[(hl.min(j, self.memory - 1), *row, self.b)]
        score = products[self.lane, tile, self.i, block, self.h, self.b] * constant(hl, self.zero, self.features**-0.5)
        return hl.select(attended, score, self.lowest)

    def dropped(self, numbers: Sequence[Any], tile: Any, block: Any) -> tuple[Any, Any]:
        """What a weight is multiplied by, 0 or 1/(1 - p), and the Func of the words of Philox that say so.

        ``numbers``: 1/(1 - p), the least word that keeps, two words of the key, and how many masks were drawn. The
        words are of a tile, or of the 64 keys that it is a part of.
        """
        hl, words, counter = self.hl, self.func("words"), self.hl.Var("counter")
        scale, least, *key = numbers
        least, *key, drawn = (hl.reinterpret(hl.UInt(32), number) for number in (least, *key))
        first, matrix = self.tile * self.keys / (4 * LANES) * LANES, self.b * self.q.dim(1).extent() + self.h
        places = (hl.cast(hl.UInt(32), each) for each in (first + counter, self.query(self.i, self.block), matrix))
        words[(counter, *self.of_scores[1:])] = hl.Tuple(list(philox(hl, (*places, drawn), (key[0], key[1]))))
        words.bound_extent(counter, LANES)
        # Key number 16·w + l of 64 has word w of counter l.
        start, counter_of = tile * self.keys % (4 * LANES), self.lane % LANES
        word = start / LANES + self.lane / LANES
        if self.keys < LANES:
            counter_of = tile % (LANES // self.keys) * self.keys + self.lane
        found = [words[(counter_of, tile, self.i, block, self.h, self.b)][number] for number in range(4)]
        bits = hl.select(word == 0, found[0], word == 1, found[1], word == 2, found[2], found[3])
        return hl.select(bits >= least, scale, self.zero), words

    def by_tiles(self, stage: Any, *over: Any) -> Any:
        """A stage that reads `products`: some rows at a time, in registers, for each tile ``over``; gives the loop over
        rows.
        """
        rows = self.hl.Var(f"{self.name}_rows")
        stage.split(self.i, rows, self.i, ROWS).reorder(self.lane, self.i, rows, *over)
        self.along_keys(stage).unroll(self.i)
        return rows

    def along_keys(self, stage: Any) -> Any:
        return stage.vectorize(self.lane, self.vector).unroll(self.lane)

    def along_features(self, stage: Any) -> Any:
        return stage.vectorize(self.f, self.lanes).unroll(self.f)

    def sums(self, sums: Any, of: Any, place: Any, count: int, terms: tuple[Any, ...]) -> None:
        """``of``, computed from ``sums``, for ``count`` places at a time; the sums of a tile of features stay in
        registers.
        """
        features, places = self.hl.Var("features"), self.hl.Var("places")
        of.split(place, places, place, count).split(self.f, features, self.f, self.width).reorder(
            self.f, place, features, places
        )
        self.along_features(of).unroll(place)
        self.along_features(sums.compute_at(of, features).store_in(self.stack)).unroll(place)
        self.along_features(sums.update().reorder(self.f, place, *terms)).unroll(place)

    def outputs(self, length: Any, count: int, number: Any) -> tuple[Any, Any, tuple[Any, Any, Any, Any]]:
        """A domain over all places of an output: (the domain, the place, its coordinates). ``number`` pieces of
        ``count`` each.
        """
        domain = self.hl.RDom([(0, count), (0, number), (0, self.q.dim(1).extent()), (0, self.q.dim(3).extent())])
        inside, piece, h, b = (domain[axis] for axis in range(4))
        place = piece * count + inside
        domain.where(place < length)
        return domain, self.hl.unsafe_promise_clamped(place, 0, length - 1), (inside, piece, h, b)


class Products:
    """Products of queries and keys, computed within the tile of a stage that reads them."""

    def __init__(self, blocks: Blocks, func: Any, over: Any) -> None:
        self.blocks: Any = blocks
        self.func: Any = func
        self.over: Any = over

    def compute_at(self, stage: Any, rows: Any) -> None:
        blocks = self.blocks
        blocks.along_keys(self.func.compute_at(stage, rows).store_in(blocks.stack)).unroll(blocks.i)
        blocks.along_keys(self.func.update().reorder(blocks.lane, blocks.i, self.over)).unroll(blocks.i)
