"""Two blocks, of which the second leaves 32 features in its middle."""

from package_factory_arguments import blocks

if __name__ == "__main__":
    good = blocks.bottleneck(64, 4)
    bad = blocks.bottleneck(64, 2)  # shape: expects 16 features, gets 32
