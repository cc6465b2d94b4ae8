"""The layers of Equinox and Flax: what each reads and gives, as annotations of `typednn.shapes`; nothing of mypy.

The names in braces are those of the constructor's parameters. ``{*self.shape}`` is one axis for each size of a tuple.
To add a layer, add its full name, as mypy knows it. A layer of Equinox reads one sample: `jax.vmap` adds a batch.
"""

# full name: what it reads, one annotation for each array; what it gives
MODULES: dict[str, tuple[tuple[str, ...], str]] = {
    "equinox.nn._linear.Linear": (("{self.in_features}",), "{self.out_features}"),
    "equinox.nn._linear.Identity": (("*shape",), "*shape"),
    "equinox.nn._mlp.MLP": (("{self.in_size}",), "{self.out_size}"),
    "equinox.nn._conv.Conv1d": (("{self.in_channels} time",), "{self.out_channels} _"),
    "equinox.nn._conv.Conv2d": (("{self.in_channels} height width",), "{self.out_channels} _ _"),
    "equinox.nn._conv.Conv3d": (("{self.in_channels} depth height width",), "{self.out_channels} _ _ _"),
    "equinox.nn._conv.ConvTranspose1d": (("{self.in_channels} time",), "{self.out_channels} _"),
    "equinox.nn._conv.ConvTranspose2d": (("{self.in_channels} height width",), "{self.out_channels} _ _"),
    "equinox.nn._pool.AvgPool1d": (("channels time",), "channels _"),
    "equinox.nn._pool.AvgPool2d": (("channels height width",), "channels _ _"),
    "equinox.nn._pool.MaxPool1d": (("channels time",), "channels _"),
    "equinox.nn._pool.MaxPool2d": (("channels height width",), "channels _ _"),
    "equinox.nn._normalisation.LayerNorm": (("{*self.shape}",), "{*self.shape}"),
    "equinox.nn._normalisation.RMSNorm": (("{*self.shape}",), "{*self.shape}"),
    "equinox.nn._normalisation.GroupNorm": (("*shape",), "*shape"),
    "equinox.nn._dropout.Dropout": (("*shape",), "*shape"),
    "equinox.nn._activations.PReLU": (("*shape",), "*shape"),
    "equinox.nn._embedding.Embedding": (("",), "{self.embedding_size}"),
    "equinox.nn._rnn.GRUCell": (("{self.input_size}", "{self.hidden_size}"), "{self.hidden_size}"),
    "equinox.nn._attention.MultiheadAttention": (
        ("time {self.query_size}", "source {self.key_size}", "source {self.value_size}"),
        "time {self.output_size}",
    ),
    "flax.nnx.nn.linear.Linear": (("*batch {self.in_features}",), "*batch {self.out_features}"),
    "flax.nnx.nn.linear.Embed": (("*batch",), "*batch {self.features}"),
    "flax.nnx.nn.linear.Conv": (("*batch {self.in_features}",), "..."),
    "flax.nnx.nn.normalization.LayerNorm": (("*batch {self.num_features}",), "*batch {self.num_features}"),
    "flax.nnx.nn.normalization.RMSNorm": (("*batch {self.num_features}",), "*batch {self.num_features}"),
    "flax.nnx.nn.normalization.BatchNorm": (("*batch {self.num_features}",), "*batch {self.num_features}"),
    "flax.nnx.nn.stochastic.Dropout": (("*shape",), "*shape"),
}
# the parameters that have the value of another unless they are given
DEFAULTS = {"key_size": "query_size", "value_size": "query_size", "output_size": "query_size"}
