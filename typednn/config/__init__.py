"""Models described by a text file: TOML, or the paper's own format; checked as a whole before anything is allocated.

    config = load("lenet5.toml")
    model = config.model().init(config.rng())

`load` and `loads` read a config, `dumps` writes one, `register` lets configs use a layer of your own. Every error
is one `ConfigError` with file, line, column, a caret under the token, the layer's place and the shapes that led there.
``typednn check FILE`` checks a file and prints its model. A config never imports code.
"""

from typednn.config.dump import dumps
from typednn.config.model_config import ModelConfig, load, loads
from typednn.config.registry import register
from typednn.errors import ConfigError

__all__ = ["ConfigError", "ModelConfig", "dumps", "load", "loads", "register"]
