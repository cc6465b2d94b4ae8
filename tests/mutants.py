"""What the project says of itself, sentence by sentence, each with a mutant: the code changed so that the sentence is
false.

`tests/repo/test_mutants.py` makes each change in a copy of the project and runs the tests that are named: at least one
must fail.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """``before`` stands once in ``file``; with ``after`` in its place the sentence is false, and ``tests`` say so."""

    sentence: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.sentence[:50]} ({self.file})".replace(" ", "_").replace("/", ".")


def mutant(sentence: str, file: str, before: str, after: str, *tests: str) -> Mutant:
    return Mutant(sentence, file, before, after, tests)


MUTANTS = [
    # ------------------------------------------------------------------ README, the first line
    mutant(
        "proven to fit together before they run",
        "typednn/shapes/flow.py",
            "        if unifier.mismatches:\n            raise flow._misfit(label, unifier.mismatches[0])\n        "
            "if flow.axes",
        "        if flow.axes",
        "tests/test_layer.py::test_a_misfit_is_told_when_the_stack_is_built",
    ),
    mutant(
        "checked while they run",
        "typednn/contracts/checks.py",
        "    if place >= 0:\n",
        "    if place >= 99:\n",
        "tests/contracts/test_checks.py::test_messages_name_the_path_the_rule_the_value_and_the_cure",
    ),
    mutant(
        "checked while they run: sizes that were not judged before are compared",
        "typednn/shapes/compiled.py",
        'if slot.broadcast else f"{size} == {earlier}"\n',
        'if slot.broadcast else f"{size} >= {earlier}"\n',
        "tests/shapes/test_compiled.py::test_both_judges_give_one_verdict",
    ),
    mutant(
        "checked while they run: what comes out is compared too",
        "typednn/module/calls.py",
        "kind.gives(self, shapes, output)",
        "True",
        "tests/contracts/test_checks.py::test_a_layer_that_promotes_is_refused",
        "tests/contracts/test_checks.py::test_every_call_is_compared",
    ),
    mutant(
        "with gradients you hold in your hand: backward writes nothing",
        "typednn/layers/linear.py",
        "        dx, dweight, dbias = linear.backward(next_grad, self._x, self.weight)\n",
            "        dx, dweight, dbias = linear.backward(next_grad, self._x, self.weight)\n        self.weight -= "
            "dweight\n",
        "tests/laws/test_gradients.py::test_backward_is_pure[Linear-cpu]",
    ),
    # ------------------------------------------------------------------ README, a typed model
    mutant(
        "nothing was allocated before init",
        "typednn/layers/linear.py",
        "        if rng is not None:\n            self.init(rng)",
        "        import numpy\n\n        self.init(numpy.random.default_rng(0) if rng is None else rng)",
        "tests/laws/test_state.py::test_forward_needs_init[Linear]",
    ),
    mutant(
        "update is the only line that changes weights, and it does",
        "typednn/kernels/update_rules.py",
        "        return weights - lr * grad, None\n",
        "        return weights, None\n",
        "tests/kernels/test_sgd.py",
    ),
    # ------------------------------------------------------------------ README, a mistake, caught
    mutant(
        "With the plugin mypy says so in the editor, and typednn check to those who use another checker",
        "typednn/mypy_plugin/body.py",
        "            self.api.fail(text, context, code=SHAPE)\n",
        "",
        "tests/cli/test_check.py::test_a_wrong_size",
    ),
    mutant(
        "Without it, the same sentence comes while the stack is built",
        "typednn/module/chain.py",
        "        ends[self] = self.trace(Flow.start())\n",
        "",
        "tests/test_layer.py::test_messages_of_stacks",
    ),
    mutant(
        "Ranks need no plugin: mypy and pyright both refuse a Linear on images",
        "typednn/module/layer.py",
        '    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "Chain[In, Next, Last[L], G, G2]":\n',
        '    def __rshift__(self, other: Operand[Any, Next, G2, L]) -> "Chain[In, Next, Last[L], G, G2]":\n',
        "tests/typing/test_checkers.py::test_mypy",
    ),
    mutant(
        "what arrives at run time is held to the same annotations, in every forward",
        "typednn/module/calls.py",
        "                _check_inputs(self, contract, (x,) if alone else x)\n",
        "                pass\n",
        "tests/contracts/test_checks.py::test_messages_name_the_path_the_rule_the_value_and_the_cure",
    ),
    mutant(
        "what arrives at run time is held to the same annotations, in every backward",
        "typednn/contracts/derivatives.py",
        "        if known is None or not known.fits(instance, next_grad, shape):\n",
        "        if False:\n",
        "tests/laws/test_refusals.py::test_refused[strict-Linear-next_grad-rank]",
    ),
    mutant(
        "what arrives at run time is held to the same annotations, in every update",
        "typednn/module/updates.py",
        "            _hold(module, path, cell.array, derivative)\n    if _running",
        "            pass\n    if _running",
        "tests/module/test_updates.py::test_a_gradient_that_does_not_fit_reaches_no_optimizer",
    ),
    # ------------------------------------------------------------------ README, gradients in your hand
    mutant(
        "backward returns a frozen dataclass per layer",
        "typednn/layers/linear.py",
        "@dataclass(frozen=True, slots=True)\nclass LinearGrad",
        "@dataclass(slots=True)\nclass LinearGrad",
        "tests/laws/test_state.py::test_a_gradient_is_a_value[Linear]",
    ),
    mutant(
        "Type checkers know every field: grad.parts[8] is a LinearGrad",
        "typednn/module/gradients.py",
        "    parts: tuple[*Gs]\n",
        "    parts: tuple[Any, ...]\n",
        "tests/typing/test_checkers.py::test_mypy",
    ),
    mutant(
        "clipping gives a new value, the old one untouched",
        "typednn/module/gradients.py",
        "            return scaled(leaf, plain)\n",
        "            return leaf.__imul__(plain)\n",
        "tests/laws/test_state.py::test_a_gradient_is_a_value[Linear]",
    ),
    # ------------------------------------------------------------------ README, a model written by hand
    mutant(
        "names, counting, saving, devices, printing and update come from walking the fields",
        "typednn/module/tree.py",
        "        for name in names:\n            yield from modules_in(name, attributes[name])\n",
        "        for name in reversed(names):\n            yield from modules_in(name, attributes[name])\n",
        "tests/models/test_lenet5.py::test_same_names_in_the_same_order",
    ),
    # ------------------------------------------------------------------ README, training
    mutant(
        "typednn resume goes on to the same bits",
        "typednn/runs/state.py",
        "            restore_generator(rng, saved[name])\n",
        "            pass\n",
        "tests/runs/test_run.py::test_generators_of_layers_go_on_too",
    ),
    mutant(
        "Tensors are plain NumPy arrays, channels last",
        "typednn/layers/flatten.py",
        " = reshape(x, (*shape[: ",
        " = reshape(x.swapaxes(1, -1), (*shape[: ",
        "tests/laws/test_gradients.py::test_central_differences[Flatten]",
    ),
    mutant(
        "typednn.gradcheck tells you whether a backward is right",
        "typednn/testing/gradcheck.py",
        "    if not errors[worst] <= tolerance:\n",
        "    if errors[worst] > 1e9:\n",
        "tests/laws/test_gradients.py::test_gradcheck_refuses_a_wrong_derivative[Linear]",
    ),
    # ------------------------------------------------------------------ docs/kernels.md
    mutant(
        "kernels for the first 8 image sizes; NumPy computes other sizes",
        "typednn/engines/sizes.py",
        "self._families[family] >= FEW",
        "self._families[family] > FEW",
        "tests/engines/test_sizes.py::test_a_few_sizes_of_each_family",
    ),
    # ------------------------------------------------------------------ what was asked for, in its own words
    mutant(
        "Optimizers are driven through each layer's update()",
        "typednn/module/updates.py",
        "            child.update(optimizer, module.part_of(grad, name))\n",
        "            _step(child, optimizer, module.part_of(grad, name))\n",
        "tests/module/test_updates.py::test_every_container_calls_its_parts_update",
    ),
    mutant(
        "Optimizers are driven through each layer's update(), a hand-written one too",
        "typednn/module/updates.py",
        "    if by_hand:\n        with _sharing(module, uses):\n",
        "    if False:\n        with _sharing(module, uses):\n",
        "tests/module/test_updates.py::test_every_container_calls_its_parts_update",
    ),
    mutant(
        "A shared parameter is stepped once, with the sum of its uses",
        "typednn/module/updates.py",
        "        optimizer.step(weights, derivative if self.others is None else add(derivative, self.others))\n",
        "        optimizer.step(weights, derivative)\n",
        "tests/module/test_updates.py::test_a_shared_parameter_is_stepped_once_with_the_sum",
    ),
    mutant(
        "inside its first holder's update; later holders' update runs with that parameter's step left out",
        "typednn/module/updates.py",
        '        elif id(tie.holder) in self._parts and tie.state == "waiting":\n',
        '        elif tie.state == "waiting":\n',
        "tests/module/test_updates.py::test_who_freezes_a_shared_parameter",
    ),
    mutant(
        "Norm and clipping see a shared parameter once",
        "typednn/module/gradients.py",
        "        for first, *others in self.shared_leaves():\n",
        "        for first, *others in ():\n",
        "tests/module/test_sharing.py::test_a_shared_parameter_has_one_leaf",
    ),
    mutant(
        "Protocols carry shape annotations that beartype enforces, when a class is defined",
        "typednn/contracts/promises.py",
        "    for base in protocols:\n        _hold(cls, base)\n",
        "",
        "tests/contracts/test_protocols.py::test_a_class_that_breaks_its_protocol_is_not_defined",
    ),
    mutant(
        "Protocols carry shape annotations that beartype enforces, when it is called: the batch law",
        "typednn/module/calls.py",
        "    contract.laws.append(_BATCH_LAW)\n",
        "",
        "tests/test_layer.py::test_who_reads_integers_or_several_arrays_keeps_the_batch",
    ),
    mutant(
        "Structural implementers are accepted and enforced where they are consumed",
        "typednn/module/foreign.py",
            "    return part if isinstance(part, Module | type) or missing_methods(part) else Foreign(part, "
            "rows=rows, seen=seen)\n",
        "    return part\n",
        "tests/module/test_foreign.py::test_one_operand_is_typednns",
    ),
    mutant(
        "A DynLayer Stack loads models from config: rows in, rows out",
        "typednn/module/stack.py",
        "        y = self.layer.forward(x.reshape(batch, *self.sample_shape))\n",
        "        y = self.layer.forward(x)\n",
        "tests/test_stack.py::test_a_convolution_in_a_stack_is_the_convolution",
    ),
    mutant(
        "Property-based gradient tests: the laws find a wrong derivative",
        "typednn/testing/layers.py",
        "    report = gradcheck(layer, *inputs, most=40, seed=subject.seed)\n",
        "    return\n",
        "tests/laws/test_wrong_layers.py::test_a_wrong_layer_breaks_the_law",
    ),
    mutant(
        "backward after a forward that was interrupted is refused",
        "typednn/module/calls.py",
        "                state.record = None  # until the forward has ended",
        "                # until the forward has ended",
        "tests/module/test_sharing.py::test_backward_after_an_interrupted_forward_is_refused",
    ),
    mutant(
        "A copied optimizer trains, or says that it can't",
        "typednn/optim/optimizer.py",
        "        states = {id(parameter.weights): parameter for parameter in state[\"_states\"]}\n",
        "        states = {place: parameter for place, parameter in enumerate(state[\"_states\"])}\n",
        "tests/optim/test_copies.py::test_a_copy_of_both_goes_on_to_the_same_bits",
    ),
    mutant(
        "Frozen parameters are not stepped, not decayed and not averaged",
        "typednn/optim/optimizer.py",
        "                if state.settings.frozen:\n                    continue\n",
        "",
        "tests/optim/test_rules.py::test_frozen_parameters_are_not_stepped",
    ),
    mutant(
        "What a plateau has seen is saved with the optimizer's state",
        "typednn/optim/optimizer.py",
        "            rate.load_state_dict(rates[key])\n",
        "            pass\n",
        "tests/optim/test_schedules.py::test_what_schedules_have_seen_is_saved",
    ),
    mutant(
        "Checkpoints hold weights and averages: resume continues with the weights",
        "typednn/runs/restoring.py",
        "load_weights(checkpoint, model, averaged=False)\n",
        "load_weights(checkpoint, model)\n",
        "tests/training/test_optimizer_state.py::test_a_run_that_fell_ends_with_the_same_bits",
    ),
    mutant(
        "Kernels are loaded only from a folder and files of the user that nobody else can write",
        "typednn/engines/halide/cache.py",
        '        return f"others can write to it: mode {stat.S_IMODE(state.st_mode):03o}, chmod go-w"\n',
        '        return ""\n',
        "tests/engines/halide/test_cache.py::test_folder_that_others_can_write",
        "tests/engines/halide/test_cache.py::test_entry_that_others_can_write",
    ),
    mutant(
        "A small file that stands for gigabytes is refused",
        "typednn/files.py",
        "    if size > limit:\n",
        "    if False:\n",
        "tests/test_files.py::test_what_is_larger_than_memory_is_refused_by_size_and_limit",
    ),
    # ------------------------------------------------------------------ text
    mutant(
        "With `--sampler 'xorshift64*'` the random numbers are gpt.c's",
        "typednn/random/xorshift64.py",
        "        x ^= x >> 12\n",
        "        x ^= x >> 13\n",
        "tests/test_random.py::test_xorshift_published",
        "tests/test_random.py::test_xorshift_coins",
    ),
    mutant(
        "A token is drawn as gpt.c draws it: the first at which the sum is more than a random number",
        "typednn/models/generation.py",
        "(shares <= coins)",
        "(shares < coins)",
        "tests/models/test_generation.py::test_a_coin_chooses_by_the_sum_of_probabilities",
    ),
    mutant(
        "A character is printed as soon as it is drawn, and once it is whole",
        "typednn/cli/generation.py",
        'codecs.getincrementaldecoder("utf-8")("replace")',
        'codecs.getincrementaldecoder("latin-1")("replace")',
        "tests/cli/test_generate.py::test_characters_are_printed_once_they_are_whole",
    ),
    mutant(
        "Control characters are not printed",
        "typednn/cli/generation.py",
        "if piece not in _UNPRINTABLE",
        "if True",
        "tests/cli/test_generate.py::test_what_is_not_printed",
    ),
    mutant(
        "Prompts of equally many tokens are read together",
        "typednn/cli/generation.py",
        "place >= first and len(prompt.tokens) == length",
        "place == first",
        "tests/cli/test_generate.py::test_prompts_of_one_length_are_read_together",
    ),
    mutant(
        "Each distinct character of a text is a token, in the order of code points",
        "typednn/data/vocabulary.py",
        '"".join(sorted(set(text)))',
        '"".join(dict.fromkeys(text))',
        "tests/data/test_vocabulary.py",
    ),
    mutant(
        "The prompt is read in one pass",
        "typednn/models/generation.py",
        "                read, state = model.read(_on(model, unread), state)\n",
            "                for token in unread.T:\n                    read, state = model.step(_on(model, "
            "token), state)\n",
        "tests/models/test_generation.py::test_a_prompt_is_read_at_once",
    ),
    mutant(
        "A state can be used more than once",
        "typednn/kernels/attention/cache.py",
        "memory.used != self.length or ",
        "",
        "tests/models/test_gpt2.py::test_a_state_goes_on_twice",
    ),
    mutant(
        "GPT2 with checkpointing keeps only the input of each block",
        "typednn/layers/repeat.py",
        "            y = layer.forward(y)\n            layer.free_cache()\n",
        "            y = layer.forward(y)\n",
        "tests/models/test_gpt2.py::test_checkpointing_keeps_one_array_for_each_block",
    ),
    mutant(
        "Checkpointing gives the same gradients to the bit, with dropout too",
        "typednn/layers/repeat.py",
        "            cell.array = array.copy()\n",
        "            pass\n",
        "tests/models/test_gpt2.py::test_checkpointing_changes_no_bit",
    ),
    mutant(
        "GPT2 with dropout drops attention's weights too",
        "typednn/kernels/attention/reference.py",
        "            weights = weights * _factors(weights, rows, dropout)\n",
        "            pass\n",
        "tests/kernels/test_attention.py::test_dropout",
    ),
    # ------------------------------------------------------------ docs/scikit-learn.md, docs/notebooks.md, docs/runs.md
    mutant(
        "the model is built again from model, so a pickle holds no layers",
        "typednn/sklearn.py",
        'if "model_" in state:',
        'if "nothing" in state:',
        "tests/test_sklearn.py::test_a_pickle_holds_arrays_and_parameters_only",
    ),
    mutant(
        "Such a column of `X` or of a regressor's `y` is centred and scaled in float64 first",
        "typednn/sklearn.py",
        "FAR: Final = 1e4",
        "FAR: Final = 1e20",
        "tests/test_sklearn.py::test_numbers_that_float32_cannot_tell_apart",
    ),
    mutant(
        "every text is escaped",
        "typednn/html.py",
        "return value if isinstance(value, Html) else escaped(str(value))",
        "return str(value)",
        "tests/test_html.py::test_text_is_text",
    ),
    mutant(
        "if the folder holds a file that is no part of a run, nothing is removed",
        "typednn/runs/run.py",
        "if path.name not in OWN and not path.name.startswith",
        "if False and not path.name.startswith",
        "tests/runs/test_run.py::test_overwriting_removes_nothing_that_is_no_run",
    ),
    mutant(
        "of a GraphLayer: later, or after numbers were written into weights or input, it is refused",
        "typednn/module/formula.py",
        "if not all(map(agrees, ",
        "if all(map(agrees, ",
        "tests/graph/test_graph_layer.py::test_it_is_refused_after_a_change",
    ),
    mutant(
        "TYPEDNN_DEBUG 32 checks each node when it is made",
        "typednn/graph/debugging.py",
        "    GRAPH.checks = is_on(Debug.CHECKS)\n",
        "    GRAPH.checks = False\n",
        "tests/graph/test_debugging.py::test_a_bit_checks_each_new_node",
    ),
    mutant(
        "GPT2 with dropout drops what attention adds too",
        "typednn/models/gpt2.py",
        "y = add(x, self.attn_dropout.forward(self.attn.forward(self.ln_1.forward(x))))",
        "y = add(x, self.attn.forward(self.ln_1.forward(x)))",
        "tests/models/test_gpt2.py::test_each_output_of_a_block_is_dropped",
    ),
    mutant(
        "GPT2 with dropout drops what the features add too",
        "typednn/models/gpt2.py",
        "z: Array3 = add(y, self.mlp_dropout.forward(self.c_proj.forward(features)))",
        "z: Array3 = add(y, self.c_proj.forward(features))",
        "tests/models/test_gpt2.py::test_each_output_of_a_block_is_dropped",
    ),
    mutant(
        "model.close() releases parameters, buffers and what forward kept",
        "typednn/module/module.py",
        "            cell.put(None)\n",
        "            cell.put(cell.array)\n",
        "tests/laws/test_state.py::test_close_lets_everything_go",
    ),
    mutant(
        "convolve2d: the kernel reversed along both axes",
        "typednn/tensors.py",
        "kernel[::-1, ::-1], stride",
        "kernel[::-1], stride",
        "tests/kernels/test_conv2d.py::test_convolution_turns_the_kernel_round",
    ),
    mutant(
        "equal: NaN and infinity equal nothing",
        "typednn/tensors.py",
        "xp.isfinite(first) & xp.isfinite(second) & (abs(first - second) <= limit)",
        "(first == second) | (abs(first - second) <= limit)",
        "tests/test_tensors.py::test_equality_within_a_tolerance",
    ),
    mutant(
        "literal: values that do not fit the shape are an error",
        "typednn/tensors.py",
        "if given.ndim != 1 and given.shape != sizes",
        "if False",
        "tests/test_tensors.py::test_literals_that_are_refused",
    ),
    mutant(
        "subtensor: a range that reaches outside is an error",
        "typednn/tensors.py",
        "if not 0 <= start < stop <= size or",
        "if not start < stop or",
        "tests/test_tensors.py::test_ranges_that_are_empty_or_outside",
    ),
    # ------------------------------------------------------------------ the documentation
    mutant(
        "typednn docs shows a page of the documentation, which comes with typednn",
        "typednn/cli/documentation.py",
        'return folder() / f"{plain}.md"',
        'return folder() / "index.md"',
        "tests/cli/test_documentation.py::test_a_page_is_printed_as_it_is",
    ),
]  # fmt: skip
