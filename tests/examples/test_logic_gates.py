"""P-E9: gates learned by nets of three neurons, written three ways."""

import pytest

from examples import logic_gates
from examples.logic_gates import GATES, Gate, from_config, learn, one_layer, sgd, stacked, with_relu


@pytest.mark.parametrize("gate", GATES)
def test_three_ways_one_result(gate: str) -> None:
    """P-E9: no error of four, in XOR and NXOR too; stacked, by hand and from a config the same bits."""
    results = [learn(stacked(), sgd(), gate), learn(Gate(), sgd(), gate), learn(*from_config(), gate)]
    assert [result.errors for result in results] == [0, 0, 0]
    assert results[0].same(results[1])
    assert results[0].same(results[2])


@pytest.mark.parametrize("gate", GATES)
def test_one_layer_learns_what_a_line_can_tell(gate: str) -> None:
    """P-E9: XOR and NXOR stay wrong somewhere, the others do not."""
    assert (learn(one_layer(), sgd(), gate).errors > 0) is (gate in ("XOR", "NXOR"))


@pytest.mark.parametrize("gate", GATES)
def test_with_relu(gate: str) -> None:
    """P-E9: ReLU inside."""
    assert learn(with_relu(), sgd(), gate).errors == 0


def test_other_bits_are_noticed() -> None:
    ours, theirs = learn(stacked(), sgd(), "AND"), learn(stacked(), sgd(), "OR")
    assert not ours.same(theirs)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """P-E9: a row per gate."""
    logic_gates.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-6:]] == list(GATES)
    assert all("yes" in line for line in lines[-6:])
    assert len({len(line) for line in lines[-7:]}) == 1
