"""Layers and losses with a formula in operations of the graph, which stand in `typednn.module.formula`."""

from typednn.module.formula import GraphElementwise, GraphLayer, GraphLoss, GraphMultiInput, interpreted

__all__ = ["GraphElementwise", "GraphLayer", "GraphLoss", "GraphMultiInput", "interpreted"]
