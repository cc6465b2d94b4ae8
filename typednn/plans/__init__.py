"""Plans: a model's forward and backward, recorded once, and then made as prepared calls.

==============  =====================================================================================================
`compiled`      `compile`: when a call is recorded, tried and planned, and what makes a plan void
`state`         what a model is when it is recorded
`comparing`     what a plan gives beside what the layers give
`code`          whether a user's forward and backward may be planned, by their source
`recording`     the ops of one forward and backward, and where their arrays lie
`natives`       an op as calls of compiled code
`plan`          the calls, in order, with all their addresses; where arrays lie
`gradients`     the gradient of a plan
`explain`       what a plan computes, and how long each step takes
==============  =====================================================================================================
"""

from typednn.plans.compiled import Compiled, CompiledStep, compile

__all__ = ["Compiled", "CompiledStep", "compile"]
