"""A model that a function of another module builds, under a name that the package passes on."""

from package_factories.models import make_mlp as make_mlp
