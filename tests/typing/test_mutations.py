"""Each rule of the mypy plugin is needed: without it, some program of the corpus is judged wrongly.

A mutation takes one rule out of a copy of the plugin. mypy then reads the programs that it names with that copy, and
must miss a mistake, tell it in other words, or refuse what is correct. What is known of NumPy and typednn comes from a
cache that the plugin itself made; the mutant reads the programs alone.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "corpus"
MESSAGES = Path(__file__).parent / "messages"

# Around the plugin's own entry: a change in its source is no reason to read NumPy again.
ENTRY = """
from typednn.mypy_plugin import TypednnPlugin

class Mutant(TypednnPlugin):
    def report_config_data(self, ctx):
        return None

def plugin(version):
    return Mutant
"""
LIBRARIES = (
    "import dataclasses, jaxtyping, numpy\nfrom typednn import arguments, layers, losses, models, optim, random\n"
)


@dataclass(frozen=True)
class Mutation:
    """A rule taken out, and programs that notice: ``kind/name``."""

    name: str
    file: str
    before: str
    after: str
    programs: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "returns are not compared",
        "features/returns.py",
        "    if problems:\n        context.scope.complain(problems[0], node)",
        "    return False",
        ("faulty/early_return",),
    ),
    Mutation(
        "arguments of functions are not compared",
        "features/functions.py",
        '            if not fits(call.context, unifier, f"{name}: {parameter}: ", text, argument, at):\n        '
        "        return None",
        "            pass",
        ("faulty/metric_classes",),
    ),
    Mutation(
        "backward's next_grad is not compared",
        "features/gradients.py",
        '    if wrong is not None:\n        return call.complain(f"{_owner(layer.label)}.backward: {wrong}") if '
        "wrong else UNKNOWN",
        "    pass",
        ("faulty/backward_from_features",),
    ),
    Mutation(
        "the gradient's input is not compared",
        "features/returns.py",
        '    if isinstance(value, Gradient) and function.name == "backward" and function.info:',
        "    if False:",
        ("faulty/backward_input_of_another_layer",),
    ),
    Mutation(
        "update does not look at the gradient",
        "features/gradients.py",
        "    wrong = _other_sizes(gradient_of(call.context, call.receiver), grad, call.context.comparison())",
        "    wrong = None",
        ("faulty/update_wrong_layer",),
    ),
    Mutation(
        "a gradient's parts are not compared with the layer's",
        "features/gradients.py",
        "        wrong = _other_sizes(own[name], value, compared, name) if name in own else None",
        "        wrong = None",
        ("faulty/backward_swapped_gradients",),
    ),
    Mutation(
        "a gradient's fields are not compared with its class",
        "features/gradients.py",
        '            and not fits(call.context, unifier, f"{info.name}: {name}: ", alternatives[0][1], '
        "values[name], call.node)",
        "            and False",
        ("faulty/gradient_class_sizes",),
    ),
    Mutation(
        "no number is known",
        "values.py",
        "    return Number(Dim.of(value), True)",
        "    return UNKNOWN",
        ("faulty/alias_promises_scores",),
    ),
    Mutation(
        "literal types say nothing",
        "types.py",
        "        case LiteralType(value=int() as value):\n            return number(value)",
        "        case LiteralType(value=int() as value):\n            return UNKNOWN",
        ("faulty/literal_parameter",),
    ),
    Mutation(
        "constants of a class are not read",
        "features/constructors.py",
        "        return {**values, **dict.fromkeys(values.keys() & classes.assigned(info), UNKNOWN)}",
        "        return dict.fromkeys(values, UNKNOWN)",
        ("faulty/constant_of_the_class",),
    ),
    Mutation(
        "defaults are not read",
        "features/constructors.py",
        "        env |= {name: context.evaluate(default, {}) for name, default in _defaults(parameters).items()}",
        "        pass",
        ("faulty/lenet_padding_forgotten",),
    ),
    Mutation(
        "aliases of annotations are not read",
        "annotations.py",
        "            return list(aliases.get(name, []))",
        "            return []",
        ("faulty/alias_of_a_field",),
    ),
    Mutation(
        "ranks of annotations are not checked",
        "classes.py",
        "        if wrong:\n            analyser.fail(wrong, ctx.type, code=SHAPE)",
        "        pass",
        ("faulty/function_axes",),
    ),
    Mutation(
        "known loops are not unrolled", "python.py", "UNROLLED = 64", "UNROLLED = -1", ("faulty/window_padding_sides",)
    ),
    Mutation(
        "broadcasting is not checked",
        "array_functions/rows.py",
        "        elif _apart(x, y, differ):\n            blamed",
        "        elif False:\n            blamed",
        ("faulty/residual_by_hand_sum",),
    ),
    Mutation(
        "products are not checked",
        "array_functions/rows.py",
        "        except Conflict:\n            raise Misfit(message, blamed, axis) from None",
        "        except Conflict:\n            return None",
        ("faulty/matrix_product",),
    ),
    Mutation(
        "arithmetic of sizes is unknown",
        "features/builtins.py",
        "            size = operation(op, left.size, right.size)",
        "            size = None",
        ("faulty/mlp_wrong_input",),
    ),
    Mutation(
        "a multiple of a width is no width",
        "features/arguments.py",
        "return times > 0",
        "return times == 1",
        ("faulty/twice_as_wide",),
    ),
    Mutation(
        "the layers in a wrapper are unknown",
        "types.py",
        "    known = takewhile(lambda field: field[2] is not None, fields)",
        "    known = takewhile(lambda field: False, fields)",
        ("faulty/residual_padding_forgotten",),
    ),
    Mutation(
        "functions that give layers are known by their types alone",
        "features/functions.py",
        "    plain = not (function.is_conditional",
        "    plain = False and not (function.is_conditional",
        ("faulty/helper_of_layers",),
    ),
    Mutation(
        "what two chains agree on is forgotten",
        "values.py",
        "a.class_name == b.class_name and (contract := _common(a.contract, b.contract)) is not None",
        "(contract := None) is not None",
        ("faulty/either_stem",),
    ),
    Mutation(
        "a choice of two chains has the sizes of the first",
        "values.py",
        """    words = [one if one == other else "_" for one, other in zip(*ends, strict=True)]""",
        "    words = ends[0]",
        ("correct/helpers_of_layers",),
    ),
    Mutation(
        "contracts of fields are not read",
        "annotations.py",
        'if word(last) == "Literal" and " -> " in (',
        "if False and bool(",
        ("faulty/own_wrapper_reads",),
    ),
    Mutation(
        "no Sequential",
        "features/stacks.py",
        "    if layers is None or not isinstance(container, Pack):",
        "    if True:",
        ("faulty/sequential_list",),
    ),
    Mutation(
        "no Stack",
        "features/stacks.py",
        "    if sample is None or not layers:",
        "    if True:",
        ("faulty/stack_of_rows",),
    ),
    Mutation(
        "no >>",
        "features/stacks.py",
        "    kinds = _kinds(call, left), _kinds(call, right)\n",
        "    return UNKNOWN\n    kinds = _kinds(call, left), _kinds(call, right)\n",
        ("faulty/autoencoder_code",),
    ),
    Mutation(
        "what is open in a contract is dropped",
        "values.py",
        "    inputs, output, where = split_contract(contract)\n",
        "    inputs, output, where = (*split_contract(contract)[:2], ())\n",
        ("faulty/package_open_sizes",),
    ),
    Mutation(
        "what other methods assign is believed",
        "features/constructors.py",
        "    changed, shared = classes.assigned(info), classes.passed_on(info)",
        "    changed, shared = set[str](), classes.passed_on(info)",
        ("correct/finished_in_method",),
    ),
    Mutation(
        "branches are not merged: the first counts",
        "statements.py",
        "        return either(self.run(body, dict(env)), self.run(orelse, dict(env)))",
        "        return self.run(body, dict(env)) or self.run(orelse, dict(env))",
        ("faulty/after_redefinition_by_branch",),
    ),
    Mutation(
        "loops run once",
        "statements.py",
        "            widened = either(dict(env), after)",
        "            return after\n            widened = either(dict(env), after)",
        ("correct/loop_until_small",),
    ),
    Mutation(
        "what differs on two paths is the first's",
        "values.py",
        "        case _:\n            return UNKNOWN\n\n\ndef _common",
        "        case _:\n            return a\n\n\ndef _common",
        ("correct/decided_by_callers",),
    ),
    Mutation(
        "sizes that differ on two paths are the first's",
        "values.py",
        "                x if x is not None and y is not None and same(x, y) else None\n                for",
        "                x\n                for",
        ("correct/loop_until_small",),
    ),
    Mutation(
        "contracts of variables assigned twice",
        "body.py",
        "                return name not in self.shared",
        "                return True",
        ("correct/rebound_globals",),
    ),
    Mutation(
        "contracts inside lists",
        "body.py",
        " | ast.GeneratorExp():\n                return False",
        " | ast.GeneratorExp():\n                return True",
        ("correct/list_filled_elsewhere",),
    ),
    Mutation(
        "unpacking is not followed",
        "evaluator.py",
        "        case Pack(items=items, keys=()) if len(items) == len(targets):\n            return list(items)",
        "        case Pack(items=items, keys=()) if False:\n            return list(items)",
        ("faulty/conditional_expression",),
    ),
    Mutation(
        "keywords of constructors are ignored",
        "features/constructors.py",
        "    return env | {each.arg: call.keywords[each.arg] for",
        "    return env | {each.arg: UNKNOWN for",
        ("faulty/keyword_arguments",),
    ),
    Mutation(
        "super is not followed",
        "features/constructors.py",
        '        call.env.update({f"self.{name}": value for name, value in attributes.items()})',
        "        assert attributes is not None",
        ("faulty/subclass_doubles",),
    ),
    Mutation(
        "a size that stands for itself is unknown",
        "values.py",
        "    return Number(Dim.named(name), positive)",
        "    return UNKNOWN",
        ("faulty/attributes_in_braces",),
    ),
    Mutation(
        "where a size comes from is not told",
        "sizes.py",
        "    return axes[place].why if axes",
        '    return "" if axes',
        ("faulty/alias_promises_scores",),
    ),
    Mutation(
        "precisions are not compared",
        "sizes.py",
        "    return a == b or not any(a in family and b in family for family in _PRECISIONS)",
        "    return True",
        ("faulty/double_precision",),
    ),
    Mutation(
        "tuples that are returned are not compared",
        "features/returns.py",
        "    values = value.items if len(promised) > 1 and isinstance(value, Pack) else (value,)",
        "    values = (value,)",
        ("faulty/tuple_returned_swapped",),
    ),
    Mutation(
        "conditional expressions take the first side",
        "evaluator.py",
        "return join(self._evaluate_conditionally(body, env), self._evaluate_conditionally(orelse, env))",
        "return self._evaluate_conditionally(body, env)",
        ("faulty/conditional_expression",),
    ),
    Mutation(
        "try always ends well",
        "statements.py",
        '            after = either(after, self.run(handler.body, {**interrupted, handler.name or "": UNKNOWN}))',
        "            pass",
        ("correct/cut_short",),
    ),
    Mutation(
        "a list that is handed over stays",
        "evaluator.py",
        "                    mutated(node, env)\n                return unshared(value)",
        "                    pass\n                return value",
        ("correct/two_names_for_one_list",),
    ),
    Mutation(
        "names that functions declare global or nonlocal stay",
        "changes.py",
        "    return frozenset(name for node in nodes if isinstance(node, outward) for name in node.names)",
        "    return frozenset(name for node in nodes if False)",
        ("correct/decided_by_callers",),
    ),
    Mutation(
        "what a loop changes before continue stays",
        "statements.py",
        "        return reduce(either, self._continues.pop(), after), self._breaks.pop()",
        "        self._continues.pop()\n        return after, self._breaks.pop()",
        ("correct/cut_short",),
    ),
    Mutation(
        "several inputs are not compared",
        "features/forward.py",
        "        if not fits(call.context, unifier, what, text, argument, call.node):\n            return None",
        "        pass",
        ("faulty/multi_input_features",),
    ),
    Mutation(
        "a union's first annotation counts",
        "features/functions.py",
        "        if not fitting:",
        "        if True:",
        ("correct/one_of_two_sizes",),
    ),
    Mutation(
        "elements of a list are lost",
        "python.py",
        "if index is not None and -len(items) <= index < len(items):\n            return items[index]",
        "if False:\n            return items[index]",
        ("faulty/reshaped_images",),
    ),
    Mutation(
        "comprehensions are lost",
        "evaluator.py",
        "        return Pack(tuple(found)) if isinstance(found, list) else UNKNOWN if found is UNKNOWN else "
        "Many(found)",
        "        return UNKNOWN",
        ("faulty/list_of_equal_layers",),
    ),
    Mutation(
        "parameters and kept arrays have no sizes",
        "sizes.py",
        "    if field is None or not library:\n        return UNKNOWN\n    return promised",
        "    if True:\n        return UNKNOWN\n    return promised",
        ("faulty/update_wrong_layer",),
    ),
    Mutation(
        "reshape is lost",
        "array_functions/movement.py",
        "    wanted = certain(sizes_of(given), kind)",
        "    wanted = certain(None if given else sizes_of(given))",
        ("faulty/reshaped_images",),
    ),
    Mutation(
        "layers that a module holds are known by type alone",
        "body.py",
        "            if value is not UNKNOWN and not isinstance(value, Array):\n                return value",
        "            if False:\n                return value",
        ("faulty/channels_first",),
    ),
    Mutation(
        "the size of an array is no number",
        "array_functions/movement.py",
        "        return Pack(tuple(UNKNOWN if size is None else Number(size) for size in shape), frozen=True)",
        "        return UNKNOWN",
        ("faulty/reshaped_images",),
    ),
    Mutation(
        "a layer of which nothing is known keeps the shape",
        "values.py",
        "            return replace(Flow.start(None), untouched=False)",
        "            return Flow.start(None)",
        ("correct/package_unknown_layer",),
    ),
    Mutation(
        "ranks of a choice are not read",
        "types.py",
        "if isinstance(reads, TypeVarType) else []",
        "if False else []",
        ("faulty/own_positionwise_ranks",),
    ),
    Mutation(
        "an annotation of its own does not win over its base's",
        "classes.py",
        '        if name in base.names or (facts is not None and name in facts["methods"]):',
        '        if base.module_name == "typednn.module.layer" and (name in base.names or (facts is not None and name '
        'in facts["methods"])):',
        ("faulty/own_positionwise",),
    ),
    Mutation(
        "two names of a function's own axes may be equal",
        "context.py",
        "        self.by_luck = True\n        return True",
        "        return False",
        ("bodies/faulty/layer_norm",),
    ),
    Mutation(
        "the sizes of a class may be equal",
        "body.py",
        "        return (self.evaluator.rigid[0] | sizes(self.annotated), sizes(of_class))",
        "        return self.evaluator.rigid",
        ("bodies/faulty/affine_weight_gradient",),
    ),
    Mutation(
        "sizes that are compared are any sizes all the same",
        "evaluator.py",
        "        self.flexible.update(name for value in values for name in sizes_in(value))\n",
        "",
        ("correct/outside_equal_by_assertion",),
    ),
    Mutation(
        "functions are not followed",
        "features/functions.py",
        "    return better(value, followed(full, source))",
        "    return value",
        ("programs/faulty/factory_positional_swap", "programs/faulty/classmethod_of_layer"),
    ),
    Mutation(
        "a mistake of a call's arguments is not passed on",
        "features/constructors.py",
        "            if id(syntax.origin(node) or node) not in own:",
        "            if False:",
        ("programs/faulty/classmethod_of_layer",),
    ),
    Mutation(
        "objects have no fields",
        "features/constructors.py",
        "    fields = classes.record(info)\n    if not fields:",
        "    fields = classes.record(info)\n    if True:",
        ("programs/faulty/dataclass_nested_config",),
    ),
    Mutation(
        "properties are not followed",
        "features/functions.py",
        "        return method(replace(call, receiver=owner), function) if not",
        "        return UNKNOWN if not",
        ("programs/faulty/property_classes",),
    ),
    Mutation(
        "partial is not followed",
        "features/builtins.py",
        "            return Partial(function, tuple(operands), tuple(call.keywords.items()))",
        "            return UNKNOWN",
        ("programs/faulty/partial_conv3",),
    ),
    Mutation(
        "reduce is not followed",
        "features/builtins.py",
        "            return reduce(result, [*start, *items])",
        "            return UNKNOWN",
        ("programs/faulty/reduce_initial",),
    ),
    Mutation(
        "patterns fit nothing for sure",
        "statements.py",
        "                return python.truth(python.compared(ast.Eq(), subject, self.peek(value, env)))",
        "                return None",
        ("programs/faulty/match_depth",),
    ),
    Mutation(
        "lambdas are not followed",
        "evaluator.py",
        '                return Function("lambda", self.scope.module, parameters, body, self.captured(env))',
        "                return UNKNOWN",
        ("programs/faulty/lambda_table",),
    ),
    Mutation(
        "nested functions are not followed",
        "statements.py",
        "                if plain:\n",
        "                if False:\n",
        ("programs/faulty/closure_maker",),
    ),
    Mutation(
        "methods that a constructor calls set nothing",
        "features/constructors.py",
        '    call.env.update({name: value for name, value in after.items() if name.startswith("self.")})',
        "    assert after is not None",
        ("programs/faulty/mixin_head",),
    ),
    Mutation(
        "what a subclass of Sequential is built of is lost",
        "features/constructors.py",
        '            call.env[f"self.{_CHAIN}"] = sequential(replace(call, name=owner.fullname))\n            '
        "return UNKNOWN",
        "            return UNKNOWN",
        ("programs/faulty/sequential_subclass_init",),
    ),
    Mutation(
        "conditions of while are not decided",
        "statements.py",
        "            decided = self.decided(self.peek(statement.test, current), statement.test)",
        "            decided = None",
        ("programs/faulty/loop_while_widths",),
    ),
    Mutation(
        "dicts are not spread",
        "calls.py",
        "                keywords |= named\n",
        "                spread = True\n",
        ("programs/faulty/factory_star_config",),
    ),
    Mutation(
        "any decorator keeps a signature",
        "syntax.py",
        "    return all(_applied(each) in _DECORATORS or _own_name(each) in keeping for each in several)",
        "    return True",
        ("correct/outside_decorators_that_lie",),
    ),
    Mutation(
        "all arrays are NumPy's",
        "libraries.py",
        '            return LIBRARIES.get(info.fullname, "")  #',
        '            return LIBRARIES.get(info.fullname, "numpy")  #',
        ("correct/outside_tensors",),
    ),
    Mutation(
        "fields keep any array",
        "evaluator.py",
        "                if isinstance(value, Array) and self.own is not None:",
        "                if False:",
        ("bodies/faulty/rms_norm",),
    ),
    Mutation(
        "declared locals hold any array",
        "statements.py",
        "        if isinstance(value, Array):\n            fits(self",
        "        if False:\n            fits(self",
        ("faulty/declared_local",),
    ),
    Mutation(
        "arrays are not counted when they are unpacked",
        "evaluator.py",
        "                self._check_number(target, targets, value)\n",
        "",
        ("bodies/faulty/lstm_cell",),
    ),
    Mutation(
        "ranks are left to mypy",
        "sizes.py",
        "    told = not mismatch.label and",
        "    told = not mismatch.label or",
        ("programs/faulty/rank_keepdims",),
    ),
    Mutation(
        "what assignment to elements needs is not compared",
        "features/arrays.py",
        '    computed(call, "[]=", (call.receiver, index, value))',
        "    assert call",
        ("bodies/faulty/ctc_table",),
    ),
    Mutation(
        "a slice of a symbol is unknown",
        "array_functions/indexing.py",
        "    return end - begin if _within(end, size)",
        "    return None if _within(end, size)",
        ("bodies/faulty/gelu_backward",),
    ),
    Mutation(
        "arrays of any number of axes lose their shape",
        "array_functions/any_rank.py",
        "    if len(stars) != 1:",
        "    if True:",
        ("faulty/any_number_of_axes",),
    ),
    Mutation(
        "what no number of axes fits is not refused",
        "array_functions/any_rank.py",
        "    if not results:\n        raise refused[0]",
        "    if not results:\n        return UNKNOWN",
        ("bodies/faulty/any_rank_product",),
    ),
    Mutation(
        "axes may go to any place in arrays of any number of axes",
        "array_functions/any_rank.py",
        "            if flow.shape[start : start + len(axes)] != list(axes) or len(places) != len(axes):",
        "            if True:",
        ("bodies/faulty/any_rank_axes",),
    ),
    Mutation(
        "a generator that an object keeps is unknown",
        "features/arrays.py",
        '    return Layer("Generator", random.GENERATOR)',
        "    return UNKNOWN",
        ("bodies/faulty/random_weights",),
    ),
    Mutation(
        "functions of NumPy's modules have no names of their own",
        "calls.py",
        "yield from _called(origin.fullname)  # a function that a variable holds",
        "yield origin.fullname",
        ("bodies/faulty/random_offsets",),
    ),
    Mutation(
        "half of the frequencies are all",
        "array_functions/fourier.py",
        "    return size // Dim.of(2) + 1",
        "    return size",
        ("bodies/faulty/power_spectrum",),
    ),
    Mutation(
        "what zip reads may be changed by it",
        "changes.py",
        "    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READERS",
        "    return False",
        ("bodies/faulty/zipped_fields",),
    ),
    Mutation(
        "an array of equal rows is unknown",
        "array_functions/rows.py",
        "            return None if shape is None else [None, *shape]",
        "            return None",
        ("bodies/faulty/rows_collected",),
    ),
    Mutation(
        "of several annotations nothing is known",
        "evaluator.py",
        "        return reduce(join, [promised(self, each, self.attributes) for each in said])",
        "        return promised(self, said[0], self.attributes) if len(said) == 1 else UNKNOWN",
        ("bodies/faulty/either_precision",),
    ),
    Mutation(
        "open shapes of other lengths are not compared",
        "sizes.py",
        "    elif expected is not None and variadic(expected) is not None and len(expected) != len(shape):",
        "    elif False:",
        ("faulty/any_number_of_axes",),
    ),
    Mutation(
        "open shapes are compared with known ones",
        "sizes.py",
        "    if any((variadic(group) is None) is not (place is None) for group in groups):\n        leave(None, "
        "None)\n        return",
        "    pass",
        ("correct/shapes_of_any_rank",),
    ),
    Mutation(
        "the string stands on the array's own type",
        "classes.py",
        "    marked = _with_string(array, ",
        "    marked = _marked(array, ",
        ("faulty/strings_of_another_module",),
    ),
    Mutation(
        "type variables have no strings",
        "classes.py",
        "        case TypeVarType(upper_bound=bound):\n            return alternatives_of(bound)",
        "        case TypeVarType(upper_bound=bound):\n            return []",
        ("faulty/strings_of_another_module",),
    ),
    Mutation(
        "methods of a NamedTuple have no annotations",
        "classes.py",
        "            if signature is None and isinstance(node, nodes.FuncDef):",
        "            if False:",
        ("faulty/braces_of_arguments",),
    ),
    Mutation(
        "braces name attributes alone",
        "values.py",
        "            return arguments.get(name, UNKNOWN)",
        "            return UNKNOWN",
        ("faulty/braces_of_arguments",),
    ),
    Mutation(
        "Python's numbers are arrays",
        "features/arrays.py",
        '    weak = "" if library and not method else dtypes.of_python(row, [kind_of(each) for each in arguments])',
        '    weak = ""',
        ("correct/numbers_of_python",),
    ),
    Mutation(
        "a shape that is not known has one axis",
        "array_functions/movement.py",
        "    if given == Pack((UNKNOWN,), frozen=True):",
        "    if False:",
        ("correct/numbers_of_python",),
    ),
    Mutation(
        "einsum is not compared",
        "array_functions/einsum.py",
        '            sizes[letter] = o.meet(earlier, size, f"{what} {letter} is {earlier} and {size}", operand, axis)',
        "            sizes[letter] = size",
        ("bodies/faulty/bilinear",),
    ),
    Mutation(
        "what a closure appends to stays",
        "evaluator.py",
        "(changeable and name in self.reached)",
        "False",
        ("correct/unseen_lists",),
    ),
    Mutation(
        "what a comprehension appends to stays",
        "evaluator.py",
        "for name in env.keys() - indices if inner.get(name) is not env[name]",
        "for name in env.keys() - indices if False",
        ("correct/unseen_lists",),
    ),
    Mutation(
        "what is changed at a depth stays",
        "context.py",
        "            | ast.Subscript(value=inner)\n",
        "",
        ("correct/unseen_lists",),
    ),
    Mutation(
        "lists that a loop changes stay",
        "evaluator.py",
        "        if names.isdisjoint((*changes.changed(body), *changes.handed_on(body))):",
        "        if True:",
        ("correct/unseen_lists",),
    ),
    Mutation(
        "fields of a dataclass stay",
        "features/constructors.py",
        "        return _steady(info, _dataclass(context, info, call))",
        "        return _dataclass(context, info, call)",
        ("correct/unseen_lists",),
    ),
    Mutation(
        "a default is no other name",
        "evaluator.py",
        "            if each is not None:\n                self.evaluate(each, env)",
        "            pass",
        ("correct/unseen_lists",),
    ),
    Mutation(
        "names of loops are kept by functions",
        "changes.py",
        "    return often | {*changed(in_turns)} | {",
        "    return often | {",
        ("correct/late_names",),
    ),
    Mutation(
        "what is caught is reported",
        "statements.py",
        "        self.scope.muted += 1\n",
        "",
        ("correct/errors_on_purpose",),
    ),
    Mutation(
        "what a class defines anew is NumPy's",
        "libraries.py",
        '            return LIBRARIES.get(info.fullname, "")  #',
        '            return LIBRARIES.get(info.fullname, "numpy" if info.has_base(NDARRAY) else "")  #',
        ("correct/own_arrays",),
    ),
    Mutation(
        "functions that are not followed compare nothing",
        "evaluator.py",
        "                    self.flexible.update(sizes_in(self._kept(each), arrays=arrays))",
        "                    pass",
        ("correct/guards_of_sizes",),
    ),
    Mutation(
        "a helper compares nothing",
        "features/constructors.py",
        "    call.context.flexible |= inner.flexible\n",
        "",
        ("correct/guards_of_sizes",),
    ),
    Mutation(
        "no array is empty",
        "context.py",
        "0 in (a.value, b.value) or",
        "False or",
        ("correct/guards_of_sizes",),
    ),
    Mutation(
        "what may be None has sizes",
        "body.py",
        "rigid=(names - self._optional(),)",
        "rigid=(names,)",
        ("correct/guards_of_sizes",),
    ),
    Mutation(
        "what is written into a slice is as long by luck",
        "features/arrays.py",
        "    compare.numbers = not (written",
        "    compare.numbers = not (False and written",
        ("correct/guards_of_sizes",),
    ),
    Mutation(
        "arrays keep their shapes",
        "context.py",
        "    env |= {name: UNKNOWN for name, value in env.items() if isinstance(value, Array | Pack | Many | Entries)}",
        "    pass",
        ("correct/shapes_in_place",),
    ),
    Mutation(
        "what types exclude is reached",
        "body.py",
        "        if not self.reporting or self.type_at(test) is None:",
        "        if True:",
        ("correct/never_reached",),
    ),
    Mutation(
        "an assertion never ends anything",
        "statements.py",
        "return None if self.decided(self.evaluate(test, env), test) is False else env",
        "self.evaluate(test, env)",
        ("correct/never_reached",),
    ),
    Mutation(
        "an endless loop ends",
        "statements.py",
        "None if endless else self.run(orelse, dict(entry))",
        "self.run(orelse, dict(entry))",
        ("correct/never_reached",),
    ),
    Mutation(
        "who leaves by break runs no finally",
        "statements.py",
        "[forget(each, statement.finalbody) for each in envs[before:]]",
        "envs[before:]",
        ("correct/never_reached",),
    ),
    Mutation(
        "functions of other modules are not followed",
        "names.py",
        "        if kept is None or function.name in self.altered[0]:\n",
        "        if True:\n",
        ("faulty/package_factories",),
    ),
    Mutation(
        "constants of other modules are unknown",
        "names.py",
        '        if kept is None or name not in kept["constants"] or name in altered or '
        "node.fullname in self.cache.running:\n",
        "        if True:\n",
        ("faulty/package_config",),
    ),
    Mutation(
        "a constant of another module holds what it held, whoever assigns it",
        "names.py",
        " or name in altered or",
        " or",
        ("correct/package_changed_elsewhere",),
    ),
    Mutation(
        "entries of another module's dict hold what they held",
        "modules.py",
        "self.assigned.union(names[name] for name in changes.changed(self.body) if name in names)",
        "self.assigned",
        ("correct/package_changed_elsewhere",),
    ),
    Mutation(
        "a list that is handed over is a constant",
        "sources.py",
        "            and not (isinstance(each.value, _LISTS) and target.id in handed_on)\n",
        "",
        ("correct/package_changed_elsewhere",),
    ),
    Mutation(
        "a decorated function of another module is followed",
        "sources.py",
        "if isinstance(made, nodes.FuncDef) and syntax.keeps_signature(decorators):",
        "if isinstance(made, nodes.FuncDef):",
        ("correct/package_changed_elsewhere",),
    ),
    Mutation(
        "a function that a branch defines again is followed",
        "sources.py",
        " + Counter(_conditional(statements))\n",
        "\n",
        ("correct/package_changed_elsewhere",),
    ),
    Mutation(
        "a function's own imports are its module's names",
        "syntax.py",
        "[*_forgotten(_imported(function.body.body)), *block(",
        "[*block(",
        ("correct/package_changed_elsewhere",),
    ),
    Mutation(
        "decorated methods of other modules are unknown",
        "names.py",
        '            return kept is not None and function.fullname.removeprefix(f"{module}.") in kept["functions"]\n',
        "            return False\n",
        ("faulty/package_builders",),
    ),
    Mutation(
        "no place is told in another module",
        "names.py",
        "            here = caller is None and self.running",
        "            here = False",
        ("faulty/package_factory_arguments",),
    ),
    Mutation(
        "who calls a project's functions is not looked at",
        "__init__.py",
        '        return kept is not None and kept["builds"]\n',
        "        return False\n",
        ("faulty/package_factories",),
    ),
    Mutation(
        "a frozen dataclass sets nothing",
        "features/constructors.py",
        '    "builtins.object.__setattr__": set_past_the_class,\n',
        "",
        ("faulty/package_config",),
    ),
    Mutation(
        "a constructor reads no property",
        "features/constructors.py",
        " for name, value in known if value is not UNKNOWN}",
        " for name, value in known}",
        ("faulty/property_in_constructor",),
    ),
    Mutation(
        "gradients of other layers fit where sizes are symbols",
        "features/gradients.py",
        "rigid=(*differs.rigid, _free(layer, own.values()))",
        "rigid=differs.rigid",
        ("faulty/backward_swapped_parameters",),
    ),
    Mutation(
        "sizes that a constructor compares are free",
        "features/gradients.py",
        "    return names - {str(each.value) for each in items if isinstance(each, Constant)}",
        "    return names",
        ("correct/one_object_in_two_places",),
    ),
    Mutation(
        "elements of annotated lists are unknown",
        "types.py",
        "            return UNKNOWN if inner is UNKNOWN else Many(",
        "            return UNKNOWN if True else Many(",
        ("bodies/faulty/batches_in_a_list",),
    ),
    Mutation(
        "entries of annotated dicts are unknown",
        "types.py",
        "return UNKNOWN if inner is UNKNOWN or isinstance(inner, Layer) else Entries(inner)",
        "return UNKNOWN",
        ("bodies/faulty/parameters_by_name",),
    ),
    Mutation(
        "what a generator yields is not compared",
        "evaluator.py",
        "                if self.yields is not None:\n",
        "                if False:\n",
        ("bodies/faulty/batches_of_a_file",),
    ),
    Mutation(
        "what a context manager gives is unknown",
        "statements.py",
        "yielded if of_generator else UNKNOWN",
        "UNKNOWN",
        ("bodies/faulty/opened_memory",),
    ),
    Mutation(
        "no generator catches what is raised where it yields",
        "names.py",
        "return bool(yields) and not any(id(each) in inside for each in yields)",
        "return True",
        ("correct/arrays_in_containers",),
    ),
    Mutation(
        "what is awaited is unknown",
        "evaluator.py",
        "return self.evaluate(inner, env)  # a coroutine stands for its result",
        "self.evaluate(inner, env)\n                return UNKNOWN",
        ("bodies/faulty/awaited_rows",),
    ),
    Mutation(
        "a slice of a name has any size",
        "context.py",
        "        if never := beyond(a, b):\n",
        "        if False and (never := beyond(a, b)):\n",
        ("bodies/faulty/leading_columns",),
    ),
    Mutation(
        "a slice of a name never has one element",
        "array_functions/rows.py",
        "(differ(x, y) and not beyond(x, y))",
        "differ(x, y)",
        ("correct/arrays_in_containers",),
    ),
    Mutation(
        "every decorator changes a function",
        "decorators.py",
        "            return _returns(decorator.body, kept)",
        "            return False",
        ("bodies/faulty/logged_calls",),
    ),
    Mutation(
        "a decorator may return anything",
        "decorators.py",
        "        and all(result(each) or (isinstance(each, ast.Name) and each.id in once) for each in returned)\n",
        "",
        ("correct/arrays_in_containers",),
    ),
    Mutation(
        "arrays in arguments are not compared",
        "features/functions.py",
        "            if wrong is not None:\n                call.complain(",
        "            if False:\n                call.complain(",
        ("bodies/faulty/gathered_in_a_list",),
    ),
    Mutation(
        "fields of records are unknown",
        "names.py",
        "        return unshared(value_of(field, of_numbers))",
        "        return UNKNOWN",
        ("bodies/faulty/fields_of_a_batch",),
    ),
    Mutation(
        "lists with an annotation of their own are not compared",
        "statements.py",
        "                    value = self._declared_inside(",
        "                    _ = lambda: self._declared_inside(",
        ("bodies/faulty/declared_list",),
    ),
    Mutation(
        "aliases in types are not read",
        "checking.py",
        "            self._mark_aliases(api)\n",
        "",
        ("bodies/faulty/aliased_rows",),
    ),
    Mutation(
        "all elements of a list have the same names",
        "containers.py",
        "misfit_inside(context, deepcopy(unifier), each,",
        "misfit_inside(context, unifier, each,",
        ("correct/arrays_in_containers",),
    ),
    Mutation(
        "a list that is handed over stays what it is",
        "values.py",
        "isinstance(value, Entries) or (isinstance(value, Many) and not value.frozen)",
        "False",
        ("correct/arrays_in_containers",),
    ),
    Mutation(
        "a function's lists are what its caller's are",
        "statements.py",
        "        return env | {name: unshared(env[name]) for name in self.reached & env.keys()}",
        "        return env",
        ("correct/arrays_in_containers",),
    ),
)


def identify(mutation: Mutation) -> str:
    return mutation.name.replace(" ", "_")


def mypy(folder: Path, plugin: Path, cache: Path, config: Path, *files: str) -> str:
    """What mypy says about ``files``, with the typednn in the folder ``plugin`` as its plugin."""
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(cache), *files]
    environment = os.environ | {
        "PYTHONPATH": str(plugin),
        "MYPYPATH": os.pathsep.join(map(str, (ROOT / "stubs", ROOT))),
    }
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert result.stderr == ""
    return "".join(f"{line}\n" for line in result.stdout.splitlines() if re.match(r".+?:\d+: ", line))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration, and a cache of NumPy's stubs and typednn: made once for all tests of all
    processes.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "mutations"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            (folder / "entry.py").write_text(ENTRY)
            (folder / "libraries.py").write_text(LIBRARIES)
            (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nplugins = {folder / 'entry.py'}\n")
            assert mypy(folder, ROOT, folder / "cache", folder / "mypy.ini", "libraries.py") == ""
            (folder / "done").touch()
    return folder


def copied(folder: Path) -> Path:
    """typednn in ``folder``: the plugin a copy, the rest the very files; gives the copy."""
    (folder / "typednn").mkdir()
    for each in (ROOT / "typednn").iterdir():
        if each.name not in ("mypy_plugin", "__pycache__"):
            (folder / "typednn" / each.name).symlink_to(each)
    return Path(shutil.copytree(ROOT / "typednn" / "mypy_plugin", folder / "typednn" / "mypy_plugin"))


def mutate(folder: Path, name: str, before: str, after: str) -> None:
    """typednn in ``folder``, one text of its plugin another."""
    file = copied(folder) / name
    source = file.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{name} has changed: say anew what to take out"
    file.write_text(source.replace(before, after), encoding="utf-8")


def verdicts(programs: tuple[str, ...], plugin: Path, library: Path, folder: Path) -> dict[str, str]:
    """What mypy says about each of the programs."""
    shutil.copytree(library / "cache", folder / "cache")
    return {
        each: mypy(_path(each).parent, plugin, folder / "cache", library / "mypy.ini", _path(each).name)
        for each in programs
    }


def _path(program: str) -> Path:
    """``faulty/name`` is of the corpus, ``bodies/faulty/name`` of the folder beside it."""
    path = (CORPUS if program.count("/") == 1 else CORPUS.parent) / program
    return path if path.is_dir() else path.with_suffix(".py")


def as_expected(program: str, found: str) -> bool:
    """Of the corpus, whether the words are the recorded ones; else whether a faulty line is refused, and nothing in a
    correct program.
    """
    *_, kind, name = program.split("/")
    if kind == "correct":
        return found == ""
    if program.count("/") == 1:
        return found == (MESSAGES / f"{name}.txt").read_text(encoding="utf-8")
    marked = {
        place
        for place, line in enumerate(_path(program).read_text().splitlines(), 1)
        if re.search(r"  # (shape|meets)", line)
    }
    return bool(marked & {int(line.split(":")[1]) for line in found.splitlines() if line.endswith("[shape]")})


def test_there_are_enough() -> None:
    assert len(MUTATIONS) >= 30
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def test_the_plugin_itself_judges_as_recorded(library: Path, tmp_path: Path) -> None:
    """So that a mutant that does not is the mutation's doing."""
    copied(tmp_path)
    programs = tuple(sorted({program for mutation in MUTATIONS for program in mutation.programs}))
    found = verdicts(programs, tmp_path, library, tmp_path)
    assert [program for program, text in found.items() if not as_expected(program, text)] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=identify)
def test_a_mutant_is_noticed(mutation: Mutation, library: Path, tmp_path: Path) -> None:
    mutate(tmp_path, mutation.file, mutation.before, mutation.after)
    found = verdicts(mutation.programs, tmp_path, library, tmp_path)
    assert not all(as_expected(program, text) for program, text in found.items()), mutation.name


def test_a_hook_that_fails_leaves_mypys_own_answer(library: Path, tmp_path: Path) -> None:
    """Annotations are read through what mypy does not promise to keep: without it they are types, and say nothing of
    sizes.
    """
    mutate(tmp_path, "classes.py", "analyser.try_analyze_special_unbound_type(", "analyser.renamed(")
    imports = "from jaxtyping import Float\nfrom typednn import Array2\n"
    (tmp_path / "program.py").write_text(f'{imports}def length(x: Float[Array2, "batch 4"]) -> int:\n    return x\n')
    shutil.copytree(library / "cache", tmp_path / "cache")
    found = mypy(tmp_path, tmp_path, tmp_path / "cache", library / "mypy.ini", "program.py")
    got = "ndarray[tuple[int, int], dtype[floating[Any]]]"
    assert (
        found == f'program.py:4: error: Incompatible return value type (got "{got}", expected "int")  [return-value]\n'
    )


def test_a_module_of_many_scopes_keeps_what_its_names_hold(library: Path, tmp_path: Path) -> None:
    """How a layer was built is told from any method, however many mypy has left by then."""
    lines = [
        "from jaxtyping import Float",
        "from typednn import Array2",
        "from typednn.layers import Linear, ReLU",
        "net = Linear(4, 8) >> ReLU() >> Linear(8, 2)",
        "class Many:",
    ]
    for place in range(60):
        lines += [f'    def method{place}(self, x: Float[Array2, "batch 5"]) -> None:', "        x.sum()"]
    (tmp_path / "held.py").write_text("\n".join([*lines, "        net.forward(x)", ""]))
    shutil.copytree(library / "cache", tmp_path / "cache")
    found = mypy(tmp_path, ROOT, tmp_path / "cache", library / "mypy.ini", "held.py")
    words = "Linear(4, 8) cannot follow an array of shape (batch, 5): expects 4 features, gets 5"
    assert found == f"held.py:{len(lines) + 1}: error: {words}  [shape]\n"
