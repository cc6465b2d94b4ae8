"""ONNX: a model as a file, and a file as a model.

============================  =======================================================================================
file                          what it has
============================  =======================================================================================
`layers`                      a row for each layer, in both directions, with PyTorch's names of its arrays
`export`, `writer`            a traced forward as nodes; what rows write them with
`reader`, `values`            a graph as layers and formulas; what rows read a node with
`formula`, `nodes`            nodes as one layer; a node and its attributes
`operators`                   what each operator computes: number by number, movement, reductions, products
`network_operators`           and normalisations, windows, recurrent cells
`storage`                     files on disk, with weights beside them; a file's results, and how far numbers are apart
============================  =======================================================================================
"""
