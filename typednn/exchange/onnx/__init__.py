"""ONNX: a model as a file, and a file as a model.

============================  =======================================================================================
file                          what it has
============================  =======================================================================================
`storage`, `running`          files on disk, with weights beside them; a file's results, and how far numbers are apart
`export`, `writer`            a traced forward as nodes; what rows write them with
`operations`                  each operation that may stand between layers, out
`layers`                      a row for each layer, in both directions, with PyTorch's names of its arrays
`reader`, `values`            a graph as layers and formulas; what rows read a node with
`nodes`, `formula`            a node and its attributes; nodes as one layer
`operators`,                  what each operator computes: number by number, movement, reductions, products;
`network_operators`           normalisations, windows, recurrent cells
============================  =======================================================================================
"""
