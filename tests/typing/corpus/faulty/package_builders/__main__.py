"""Three models, of which two do not fit."""

from package_builders.builders import BUILDERS, Family
from typednn.layers import Linear

if __name__ == "__main__":
    fits = Linear(4, 16) >> Family.small().head(3) >> Family.tail(3)
    named = BUILDERS["narrow"](784, 12) >> Linear(10, 2)  # shape: expects 10 features, gets 12
    family = Linear(4, 8) >> Family.small().head(3)  # shape: expects 16 features, gets 8
