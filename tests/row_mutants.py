"""For each row of the specification that must hold, one fault in the product, and the tests of the row that notice it.

`tests/repo/test_mutants.py` makes the changes. A row has its tests in `docs/coverage.md`.
"""

from tests.mutants import Mutant


def fault(row: str, file: str, before: str, after: str, *tests: str) -> Mutant:
    """``file`` is below ``typednn/``, ``tests`` are below ``tests/`` and cite ``row``."""
    return Mutant(row, f"typednn/{file}", before, after, tuple(f"tests/{test}" for test in tests))


ROW_MUTANTS = [
    # ------------------------------------------------------------------ the paper: tensors
    fault(
        "P-T1", "contracts/checks.py",
        "is_array_hint(hint) and (0 in value.shape or not is_array(value))",
        "is_array_hint(hint) and not is_array(value)",
        "test_tensors.py::test_rank_and_element_access",
        "laws/test_refusals.py::test_an_empty_batch_is_refused",
    ),
    fault(
        "P-T3", "tensors.py",
        'cast("A", cast("Any", x)[parts])',
        'cast("A", cast("Any", x)[parts].copy())',
        "test_tensors.py::test_views_share_memory",
        "test_tensors.py::test_a_view_has_an_offset",
    ),
    fault(
        "P-T4", "layers/linear.py",
        "        self._x = x\n",
        "        x *= 1\n        self._x = x\n",
        "test_tensors.py::test_kept_inputs_are_views_and_never_written",
    ),
    fault(
        "P-T6", "tensors.py",
        "math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])",
        "math.prod(x.shape[first:last]), *x.shape[last:])",
        "test_tensors.py::test_flatten_includes_its_last_axis",
    ),
    fault(
        "P-T9", "tensors.py",
        "if not 0 <= start < stop <= size or",
        "if not 0 <= start <= stop <= size or",
        "test_tensors.py::test_ranges_that_are_empty_or_outside",
    ),
    fault(
        "P-T14", "layers/conv2d.py",
        '"{self.out_channels} {self.kernel_size[0]} {self.kernel_size[1]} {self.in_channels}//{self.groups}"',
        '"{self.in_channels}//{self.groups} {self.kernel_size[0]} {self.kernel_size[1]} {self.out_channels}"',
        "test_tensors.py::test_images_and_kernels_are_channels_last",
    ),
    # ------------------------------------------------------------------ the paper: primitives
    fault(
        "P-P1", "shapes/flow.py",
        "        if unifier.mismatches:\n"
        "            raise flow._misfit(label, unifier.mismatches[0])\n"
        "        if flow.axes",
        "        if flow.axes",
        "test_layer.py::test_a_misfit_is_told_when_the_stack_is_built",
    ),
    fault(
        "P-P2", "module/fields.py",
        "        if layer.training:\n            layer.__typednn_calls__.kept[self.name] = value\n",
        "        layer.__typednn_calls__.kept[self.name] = value\n",
        "laws/test_state.py::test_eval_keeps_nothing[Linear-cpu]",
    ),
    fault(
        "P-P3", "layers/linear.py",
        "        dx, dweight, dbias = linear.backward(next_grad, self._x, self.weight)\n",
        "        dx, dweight, dbias = linear.backward(next_grad, self._x, self.weight)\n"
        "        self.weight -= dweight\n",
        "laws/test_gradients.py::test_backward_is_pure[Linear-cpu]",
    ),
    fault(
        "P-P4", "contracts/derivatives.py",
        "            if None not in (rank, written) and written != rank:\n"
        '                rule = f"the derivative by that {kind} has',
        "            if False:\n                rule = f\"the derivative by that {kind} has",
        "contracts/test_checks.py::test_the_gradient_must_belong_to_the_layer",
    ),
    fault(
        "P-P5", "module/updates.py",
        "        for _, cell, derivative in summed(uses):\n            optimizer.step(cell.array, derivative)\n",
        "        for _, cell, derivative in [*summed(uses)][:1]:\n"
        "            optimizer.step(cell.array, derivative)\n",
        "laws/test_state.py::test_update_steps_each_parameter_once_in_order[Linear-cpu]",
    ),
    fault(
        "P-P6", "module/updates.py",
        "        for _, cell, derivative in summed(uses):\n            optimizer.step(cell.array, derivative)\n",
        "        for _, cell, derivative in reversed([*summed(uses)]):\n"
        "            optimizer.step(cell.array, derivative)\n",
        "laws/test_state.py::test_update_steps_each_parameter_once_in_order[Linear-cpu]",
    ),
    fault(
        "P-P7", "contracts/promises.py",
        "    return wrap.get(name, enforced)(function, cls)\n",
        "    return wrap[name](function, cls) if name in wrap else function\n",
        "contracts/test_checks.py::test_optimizers_and_losses_are_enforced",
    ),
    fault(
        "P-P8", "kernels/linear/reference.py",
        "    return dz @ weight if wants_input else None, dz.T @ x, sums.over(dz, 0)\n",
        "    return dz @ weight if wants_input else None, dz.T @ (x * 2), sums.over(dz, 0)\n",
        "kernels/test_known_values.py::test_known_values",
    ),
    fault(
        "P-P9", "losses/reduction.py",
        '"mean_batch": batch, "batchmean": batch, "mean_feature": features}',
        '"mean_batch": features, "batchmean": batch, "mean_feature": batch}',
        "losses/test_losses.py::test_the_five_reductions_by_hand",
    ),
    fault(
        "P-P10", "models/lenet5.py",
        "        conv2 = self.conv2.backward(self.relu2.backward(self.pool2.backward(images).input).input)\n",
        "        conv2 = self.conv2.backward(self.pool2.backward(images).input)\n",
        "models/test_lenet5.py::test_gradient_by_differences",
        "models/test_lenet5.py::test_by_hand_and_stacked_are_the_same_bits",
    ),
    fault(
        "P-P11", "__init__.py",
        "from typednn.version import __version__ as __version__\n",
        "import scipy\n\nfrom typednn.version import __version__ as __version__\n",
        "repo/test_imports.py::test_nothing_optional_is_loaded",
    ),
    # ------------------------------------------------------------------ the paper: layers
    fault(
        "P-L1", "kernels/linear/reference.py",
        "    z: Array2 = x @ weight.T\n    if bias is not None:\n",
        "    z: Array2 = x @ weight.T\n    if bias is None:\n",
        "kernels/test_references.py::test_values_and_slopes[linear]",
    ),
    fault(
        "P-L2", "layers/linear.py",
        'bias=weight_init if bias_init == "same" else bias_init)',
        'bias="zeros" if bias_init == "same" else bias_init)',
        "test_random.py::test_weights_then_bias_from_one_generator",
    ),
    fault(
        "P-L3", "layers/conv2d.py",
        "        y, _ = conv2d.forward(x, self.weight, self.bias, conv2d.Window(self.stride, "
        "self.dilation, self.padding))\n",
        "        y, _ = conv2d.forward(x, self.weight[:, ::-1, ::-1], self.bias, "
        "conv2d.Window(self.stride, self.dilation, self.padding))\n",
        "laws/test_gradients.py::test_central_differences[Conv2d]",
    ),
    fault(
        "P-L4", "kernels/conv2d/reference.py",
        "        planes[..., tap_rows, tap_columns] += dpatches[:, tap]\n",
        "        planes[..., tap_rows, tap_columns] = dpatches[:, tap]\n",
        "kernels/test_conv2d.py::test_input_gradient_is_eq_27_written_out",
    ),
    fault(
        "P-L5", "layers/conv2d.py",
        "        if not bias:\n            self.bias = None\n",
        "        self.bias = None\n",
        "models/test_lenet5.py::test_counts",
    ),
    fault(
        "P-L7", "kernels/pad2d/reference.py",
        "    border = ((0, 0), (top, bottom), (left, right), (0, 0))\n",
        "    border = ((0, 0), (left, right), (top, bottom), (0, 0))\n",
        "kernels/test_pad2d.py::test_fixture_one_row_two_columns",
    ),
    fault(
        "P-L8", "kernels/pad2d/reference.py",
        "    folded[:, -1] += next_grad[:, rows.stop :].sum(axis=1)\n",
        "",
        "kernels/test_pad2d.py::test_replicate_by_hand",
    ),
    fault(
        "P-L9", "kernels/pointwise.py",
        "    Formula(lambda xp, dy, x: xp.where(x > 0, dy, 0), ",
        "    Formula(lambda xp, dy, x: xp.where(x >= 0, dy, 0), ",
        "kernels/test_known_values.py::test_known_values",
    ),
    fault(
        "P-L10", "kernels/pointwise.py",
        "    decayed = decay(xp, -abs(x))  # of -|x| alone, which can't overflow\n"
        "    return xp.where(is_negative(xp, x), decayed, 1) / (1 + decayed)\n",
        "    return 1 / (1 + xp.exp(-x))\n",
        "kernels/test_known_values.py::test_known_values",
    ),
    fault(
        "P-L11", "kernels/softmax/reference.py",
        "    dx: Array2 = (next_grad - (next_grad * y).sum(axis=1, keepdims=True)) * y\n",
        "    dx: Array2 = next_grad * y * (1 - y)\n",
        "kernels/test_known_values.py::test_softmaxs_derivative_is_the_jacobian",
    ),
    fault(
        "P-L12", "layers/flatten.py",
        "        return FlattenGrad(reshape(next_grad, self._shape))\n",
        "        return FlattenGrad(reshape(next_grad[:, ::-1], self._shape))\n",
        "laws/test_gradients.py::test_central_differences[Flatten]",
    ),
    fault(
        "P-L13", "kernels/max_pool2d/reference.py",
        "        dx[:, rows, columns] += xp.where(index == tap, next_grad, 0)\n",
        "        dx[:, rows, columns] = xp.where(index == tap, next_grad, dx[:, rows, columns])\n",
        "kernels/test_max_pool2d.py::test_fixture_overlap_backward",
    ),
    fault(
        "P-L15", "kernels/pointwise.py",
        "lambda xp, dy, x, slope: xp.where(x > 0, dy, slope * dy), ",
        "lambda xp, dy, x, slope: xp.where(x > 0, dy, 0), ",
        "kernels/test_known_values.py::test_known_values",
    ),
    fault(
        "P-L16", "kernels/prelu/reference.py",
        "xp.where(passes, 0, next_grad * x)",
        "xp.where(passes, 0, slope * x)",
        "kernels/test_known_values.py::test_known_values",
    ),
    fault(
        "P-L17", "kernels/max_pool2d/reference.py",
        "(candidate > y)",
        "(candidate >= y)",
        "kernels/test_max_pool2d.py::test_ties_go_to_the_first",
    ),
    # ------------------------------------------------------------------ the paper: models from a config
    fault(
        "P-D1", "module/stack.py",
        "        y = self.layer.forward(x.reshape(batch, *self.sample_shape))\n",
        "        y = self.layer.forward(x)\n",
        "test_stack.py::test_a_convolution_in_a_stack_is_the_convolution",
    ),
    fault(
        "P-D2", "module/stack.py",
        "        return DynGrad(inner.input.reshape(batch, self.in_features), inner)\n",
        "        return inner\n",
        "test_stack.py::test_every_dynamic_layer_gives_the_one_gradient",
    ),
    fault(
        "P-D3", "module/stack.py",
        "        gradient: AnyChainGrad = run_back(self.dyn_layers, next_grad)\n",
        "        gradient: AnyChainGrad = run_back(self.dyn_layers[::-1], next_grad)\n",
        "test_stack.py::test_nested_stack_derivatives",
    ),
    fault(
        "P-D4", "config/paper_format.py",
        '{"padding": "pad_w pad_w pad_h pad_h", "value": "value"}',
        '{"padding": "pad_h pad_h pad_w pad_w", "value": "value"}',
        "config/test_paper_format.py::test_unequal_sizes",
    ),
    fault(
        "P-D5", "config/paper_format.py",
        '{"seed": 42, "generator": "pcg32", "stream": 6}',
        '{"seed": 42, "generator": "pcg32", "stream": 7}',
        "config/test_paper_format.py::test_lenet5_from_a_config_is_lenet5_in_code",
    ),
    fault(
        "P-D7", "config/paper_format.py",
        "    if len(sections) != 3:\n",
        "    if False:\n",
        "config/test_complaints.py::test_the_papers_format",
    ),
    # ------------------------------------------------------------------ the paper: losses, optimizers, random numbers
    fault(
        "P-S1", "kernels/pointwise_losses.py",
        "lambda xp, prediction, target: xp.square(prediction - target), ",
        "lambda xp, prediction, target: xp.square(prediction - target) / 2, ",
        "kernels/test_known_values.py::test_known_values",
    ),
    fault(
        "P-S2", "kernels/pointwise_losses.py",
        "xp.where(target == 0, 0, -target / xp.maximum(prediction, eps)) * scale",
        "xp.where(target == 0, 0, -1 / xp.maximum(prediction, eps)) * scale",
        "kernels/test_known_values.py::test_known_values",
        "kernels/test_references.py::test_values_and_slopes[cross_entropy]",
    ),
    fault(
        "P-S3", "kernels/softmax_cross_entropy/reference.py",
        "softmax(logits) * total) - q) * scale",
        "softmax(logits) * total) - 2 * q) * scale",
        "kernels/test_known_values.py::test_cross_entropy_after_softmax",
    ),
    fault(
        "P-S4", "kernels/update_rules.py",
        "        return weights - lr * grad, None\n",
        "        return weights + lr * grad, None\n",
        "kernels/test_sgd.py::test_plain_step_by_hand",
    ),
    fault(
        "P-S5", "optim/optimizer.py",
        "        return 2.0 * settings.l2 + settings.weight_decay, 1.0 - settings.decay\n",
        "        return settings.l2 + settings.weight_decay, 1.0 - settings.decay\n",
        "optim/test_optim.py::test_three_meanings_of_weight_decay",
        "optim/test_optim.py::test_the_penalty_is_eq_45_and_its_derivative_eq_46",
    ),
    fault(
        "P-R1", "random/pcg32.py",
        "        rotation = old >> 59\n",
        "        rotation = old >> 58\n",
        "test_random.py::test_vectorised_equals_scalar",
        "test_random.py::test_u32_of_the_authors_demo",
    ),
    fault(
        "P-R2", "random/pcg32.py",
        "np.minimum(numbers, 1.0 - 2.0**-24)",
        "np.minimum(numbers, 1.0)",
        "test_random.py::test_never_one_even_in_float32",
    ),
    fault(
        "P-R3", "random/pcg32.py",
        "np.cos(2.0 * np.pi * u2)",
        "np.sin(2.0 * np.pi * u2)",
        "test_random.py::test_normals_of_the_paper",
    ),
    fault(
        "P-R4", "random/pcg32.py",
        "            left[place], left[-1] = left[-1], left[place]\n",
        "            left[place], left[0] = left[0], left[place]\n",
        "test_random.py::test_shuffle_of_the_paper",
    ),
    fault(
        "P-R5", "random/pcg32.py",
        "        return numbers.reshape(size)\n\n    def random(self, size",
        '        return numbers.reshape(size, order="F")\n\n    def random(self, size',
        "test_random.py::test_row_major",
    ),
    # ------------------------------------------------------------------ the paper: data, metrics, experiment
    fault(
        "P-C1", "data/csv.py",
        "    if got != expected:\n",
        "    if got < expected:\n",
        "data/test_csv.py::test_rows_of_another_length",
    ),
    fault(
        "P-C3", "data/labels.py",
        "    targets = np.full((len(rows), classes), off, np.float32)\n",
        "    targets = np.full((len(rows), classes), 0.0, np.float32)\n",
        "data/test_labels.py::test_smoothed_as_in_the_paper",
    ),
    fault(
        "P-C4", "data/batches.py",
        "    return slice(place * batch_size, n if last else (place + 1) * batch_size)\n",
        "    return slice(place * batch_size, n - 1 if last else (place + 1) * batch_size)\n",
        "data/test_batches.py::test_every_row_once_and_the_last_batch_short",
    ),
    fault(
        "P-M1", "metrics.py",
        "np.bincount(true * classes + predicted, minlength",
        "np.bincount(predicted * classes + true, minlength",
        "test_metrics.py::test_equals_scikit_learn",
    ),
    fault(
        "P-E3", "random/initialisers.py",
        "rng.normal(0.0, math.sqrt(2.0 / fans.of(self.fan)), shape)",
        "rng.normal(0.0, math.sqrt(1.0 / fans.of(self.fan)), shape)",
        "models/test_lenet5.py::test_initial_weights_are_the_papers",
    ),
    fault(
        "P-E4", "recipes/catalogue.py",
        '            {"type": "SGD", "lr": 1.0, "decay": 1e-7},\n',
        '            {"type": "SGD", "lr": 0.1, "decay": 1e-7},\n',
        "recipes/test_recipes.py::test_the_papers_recipe_is_the_papers",
        "recipes/test_recipes.py::test_the_papers_numbers",
    ),
    # ------------------------------------------------------------------ gpt.c
    fault(
        "G-L2", "kernels/embedding/reference.py",
        "    sums = xp.bincount(places.reshape(-1), weights=terms, minlength=vocab * features)\n",
        "    sums = xp.zeros(vocab * features)\n    sums[places.reshape(-1)] = terms\n",
        "kernels/test_references.py::test_values_and_slopes[embedding]",
    ),
    fault(
        "G-L6", "losses/labels.py",
        '    each, labelled = shape[-1] if reduction == "mean" else 1,',
        "    each, labelled = shape[-1],",
        "losses/test_labels.py::test_without_ignored_labels",
    ),
    fault(
        "G-L7", "models/gpt2.py",
        "dropout=self.dropout, causal=True,",
        "dropout=self.dropout, causal=False,",
        "models/test_gpt2.py::test_no_token_sees_a_later_one",
    ),
    fault(
        "G-L8", "models/gpt2.py",
        "        ln_1 = self.ln_1.backward(attn.input)\n",
        "        ln_1 = self.ln_1.backward(dy)\n",
        "models/test_gpt2.py::test_derivatives",
    ),
    fault(
        "G-L9", "models/gpt2.py",
        "        dy = add(next_grad, ln_2.input)\n",
        "        dy = ln_2.input\n",
        "models/test_gpt2.py::test_derivatives",
    ),
    fault(
        "G-L10", "models/gpt2.py",
        "self.wte.backward_of_both(wpe.input, dweight)",
        "self.wte.backward(wpe.input)",
        "models/test_gpt2.py::test_derivatives",
    ),
    fault(
        "G-L11", "models/gpt2.py",
        "SequenceLinear(n_embd, 4 * n_embd, weight_init=wide",
        "SequenceLinear(n_embd, 4 * n_embd, False, weight_init=wide",
        "models/test_gpt2.py::test_published_counts",
    ),
    fault(
        "G-L12", "models/gpt2.py",
        "        self.wte: Embedding = Embedding(vocab_size, n_embd, weight_init=rule)\n"
        "        self.wpe: LearnedPositions = LearnedPositions(n_positions, n_embd, weight_init=rule)\n",
        "        self.wpe: LearnedPositions = LearnedPositions(n_positions, n_embd, weight_init=rule)\n"
        "        self.wte: Embedding = Embedding(vocab_size, n_embd, weight_init=rule)\n",
        "models/test_gpt2.py::test_order_of_parameters",
    ),
    fault(
        "G-L14", "module/module.py",
        "        own = sum(math.prod(shape) for shape in self.own_shapes().values())\n",
        "        own = sum(math.prod(shape) for shape in self.own_shapes().values() if len(shape) > 1)\n",
        "models/test_gpt2.py::test_counts_by_layer",
    ),
    fault(
        "G-D1", "module/updates.py",
        "        for _, cell, derivative in summed(uses):\n            optimizer.step(cell.array, derivative)\n",
        "        for _, cell, derivative in summed(uses):\n            optimizer.step(cell.array, derivative[:1])\n",
        "laws/test_state.py::test_update_steps_each_parameter_once_in_order[Linear-cpu]",
    ),
    fault(
        "G-D2", "layers/linear.py",
        "        self._x = x\n",
        "        self._x = x.copy()\n",
        "laws/test_state.py::test_the_input_is_kept_by_reference",
    ),
    fault(
        "G-D3", "module/state.py",
        "        self.record = None\n        self.kept.clear()\n",
        "        self.record = None\n",
        "laws/test_state.py::test_free_cache_lets_the_input_go[Linear]",
    ),
    fault(
        "G-D4", "module/module.py",
        "        return list(self.named_parameters().values())\n",
        "        return [array.copy() for array in self.named_parameters().values()]\n",
        "laws/test_state.py::test_parameters_are_references[Linear]",
    ),
    fault(
        "G-D5", "module/module.py",
        "        for _, module in self.named_modules():\n"
        "            module.__typednn_calls__.drop()\n"
        "            module.__typednn_calls__.token = None\n",
        "        for _, module in [*self.named_modules()][:1]:\n"
        "            module.__typednn_calls__.drop()\n"
        "            module.__typednn_calls__.token = None\n",
        "laws/test_state.py::test_free_cache_lets_the_input_go[Residual]",
    ),
    fault(
        "G-D7", "module/module.py",
        "                cell.put(to_device(array.copy(), module.device))\n",
        "                cell.put(to_device(array, module.device))\n",
        "laws/test_state.py::test_a_loaded_state_is_a_copy[Linear]",
    ),
    fault(
        "G-D8", "module/tree.py",
        "        for name in names:\n            yield from modules_in(name, attributes[name])\n",
        "        for name in reversed(names):\n            yield from modules_in(name, attributes[name])\n",
        "laws/test_state.py::test_nested_layers_are_listed_in_the_order_of_their_parts",
    ),
    fault(
        "G-D9", "kernels/layer_norm/reference.py",
        "        inner = inner - _mean(by_normal)\n",
        "        pass\n",
        "models/test_blocks.py::test_a_block_of_two_perceptrons",
    ),
    fault(
        "G-D10", "layers/residual.py",
        "        return ResidualGrad(add(dx, inner.input), inner, shortcut)\n",
        "        return ResidualGrad(dx, inner, shortcut)\n",
        "laws/test_gradients.py::test_central_differences[Residual]",
    ),
    fault(
        "G-L4", "kernels/linear_units.py",
        "3 * 0.044715 * square",
        "2 * 0.044715 * square",
        "kernels/test_references.py::test_values_and_slopes",
    ),
    fault(
        "G-C3", "models/generation.py",
        "(shares <= coins)",
        "(shares < coins)",
        "models/test_generation.py::test_a_coin_chooses_by_the_sum_of_probabilities",
    ),
    fault(
        "G-C4", "models/generation.py",
        "                unread, state = context[:, -model.n_positions :], ()\n",
        "                unread, state = context[:, : model.n_positions], ()\n",
        "models/test_generation.py::test_the_cache_changes_nothing",
    ),
    fault(
        "G-C5", "models/generation.py",
        "        ranked[:, top_k:] = 0\n",
        "        ranked[:, top_k + 1 :] = 0\n",
        "models/test_generation.py::test_top_1_is_greedy",
    ),
    fault(
        "G-C7", "cli/tokens.py",
        "    first = [end_of(vocabulary, \"--eot\")] if options.eot else []\n",
        "    first: list[int] = []\n",
        "cli/test_tokens.py::test_encode_and_decode",
    ),
    fault(
        "G-C8", "models/gpt2_weights.py",
        "numbers.T if _TRANSPOSED.search(stored) else numbers",
        "numbers",
        "models/test_gpt2_weights.py::test_the_layout_on_disk",
    ),
    fault(
        "G-C9", "models/gpt_c.py",
        "        if header[6] != len(shapes):\n",
        "        if False:\n",
        "models/test_gpt_c.py",
    ),
    fault(
        "G-C10", "optim/clipping.py",
        "    return grad * factor if factor < 1.0 else grad\n",
        "    return grad\n",
        "optim/test_optim.py::test_clipping_is_by_the_norm_of_all_parameters",
    ),
    fault(
        "G-C11", "module/state.py",
        "        self.record = None\n        self.kept.clear()\n",
        "        self.record = None\n        self.kept.setdefault('old', []).extend(self.kept.values())\n",
        "models/test_gpt2.py::test_no_growth",
    ),
    fault(
        "G-F1", "data/token_files.py",
        '"<i4" if chosen',
        '">i4" if chosen',
        "data/test_token_files.py::test_round_trips",
    ),
    fault(
        "G-F2", "models/gpt_c.py",
        "*(getattr(model, name) for name in _NAMES),",
        "*(getattr(model, name) for name in sorted(_NAMES)),",
        "models/test_gpt_c.py::test_layout",
    ),
    fault(
        "G-D24", "data/token_windows.py",
        "(sliding_window_view(x, size)[::step],",
        "(sliding_window_view(x, size)[step::step],",
        "data/test_token_windows.py::test_published_counts",
    ),
    # ------------------------------------------------------------------ Tomo, Tomorin, Nina
    fault(
        "Z-N4", "data/token_windows.py",
        "np.full(missing + 1, ignore_index, signed))",
        "np.full(missing + 1, filler, signed))",
        "data/test_token_windows.py::test_the_definition",
    ),
    fault(
        "Z-N5", "models/generation.py",
        "        ranked[np.arange(ranked.shape[1]) > (shares < top_p).sum(axis=1, keepdims=True)] = 0\n",
        "        ranked[np.arange(ranked.shape[1]) >= (shares < top_p).sum(axis=1, keepdims=True)] = 0\n",
        "models/test_generation.py::test_what_is_drawn",
    ),
    fault(
        "Z-D9", "data/token_files.py",
        "        place += 1 + count\n    tokens",
        "        place = len(numbers)\n    tokens",
        "data/test_token_files.py::test_round_trips",
    ),
    fault(
        "Z-D8", "data/tokenizer.py",
        "            return first, second\n",
        "            return second, first\n",
        "data/test_tokenizer.py::test_saved_and_read_again",
    ),
    fault(
        "Z-S2", "data/loader.py",
        "                rows = rows_in(place, count, self.rows, self.batch_size, drop_last=self.drop_last)\n",
        "                rows = rows_in(place, count, self.rows, self.batch_size, drop_last=True)\n",
        "data/test_loader.py::test_the_last_batch",
    ),
    fault(
        "Z-S3", "metrics.py",
        '"accuracy": int(right.sum()) / len(true),',
        '"accuracy": int(right.max()) / len(true),',
        "test_metrics.py::test_accuracy",
    ),
    fault(
        "Z-O1", "optim/adagrad.py",
        "        return lr / (1 + step * self.lr_decay), self.eps\n",
        "        return lr / (1 + step * self.lr_decay), 2 * self.eps + 1e-2\n",
        "optim/test_rules.py::test_three_steps_by_hand",
    ),
    fault(
        "Z-O2", "optim/optimizer.py",
        "                if state.settings.frozen:\n                    continue\n",
        "",
        "optim/test_rules.py::test_frozen_parameters_are_not_stepped",
    ),
    fault(
        "Z-D6", "module/tree.py",
        "        for name in names:\n            yield from modules_in(name, attributes[name])\n",
        "        for name in [*names][:1]:\n            yield from modules_in(name, attributes[name])\n",
        "laws/test_state.py::test_state_round_trip",
    ),
    fault(
        "Z-F2", "losses/labels.py",
        "    return ignore_index is not None\n\n\ndef divisors",
        "    return False\n\n\ndef divisors",
        "losses/test_labels.py::test_all_ignored",
        "losses/test_labels.py::test_gradient_with_ignored_labels",
    ),
    fault(
        "Z-F3", "graph/normalisation.py",
        "    found = moments(x, axes, correction=1)\n",
        "    found = moments(x, axes, correction=0)\n",
        "graph/test_normalisation.py::test_running_statistics",
    ),
    fault(
        "Z-F4", "graph/dropout.py",
        "x * (1 / (1 - p))",
        "x * (1 - p)",
        "graph/test_dropout.py::test_the_mean_stays",
        "graph/test_dropout.py::test_by_given_numbers",
    ),
    fault(
        "Z-D2", "graph/region.py",
        "            else:\n                each.release()\n",
        "            else:\n                pass\n",
        "graph/test_region.py::test_everything_made_inside_goes",
    ),
    fault(
        "Z-D3", "graph/custom.py",
        "        return self.backward(next_grad, *inputs)\n",
        "        return (None,) * len(inputs)\n",
        "graph/test_custom.py::test_two_methods_make_an_operation",
    ),
    fault(
        "Z-D4", "graph/operations/functions.py",
        "derivative=lambda g, x, y: g * (1.0 - y * y),\n",
        "derivative=lambda g, x, y: g * (1.0 - y),\n",
        "graph/test_tape.py::test_derivatives_of_tanh",
    ),
    fault(
        "Z-D5", "graph/operations/functions.py",
        "derivative=lambda g, x, y: -g,\n",
        "derivative=lambda g, x, y: g,\n",
        "graph/test_tape.py::test_negative",
    ),
    fault(
        "Z-F5", "graph/tape.py",
        "gradients[each] + derivative if each in gradients else derivative",
        "derivative",
        "graph/test_tape.py::test_repeated_use_adds",
    ),
    fault(
        "Z-F6", "graph/operations/functions.py",
        "by_z=lambda g, x, z, y: g * x,\n",
        "by_z=lambda g, x, z, y: g * z,\n",
        "graph/test_tape.py::test_matyas",
    ),
    # ------------------------------------------------------------------ zyx
    fault(
        "X-D2", "graph/graph.py",
        "            self.slab[number].references,\n            number in self.arrays,\n",
        "            self.slab[number].references + 1,\n            number in self.arrays,\n",
        "graph/test_graph.py::test_the_graph_can_be_looked_at",
    ),
    fault(
        "X-D3", "graph/slab.py",
        "        self._free = number\n",
        "",
        "graph/test_slab.py::test_a_removed_place_is_the_next_that_is_handed_out",
    ),
    fault(
        "X-D4", "graph/graph.py",
        "            waiting += self.inputs(each)\n",
        "",
        "graph/test_graph.py::test_dropping_a_handle_lets_its_node_and_inputs_go",
        "graph/test_graph.py::test_diamonds_are_freed_once",
    ),
    fault(
        "X-D5", "graph/tensor.py",
        "        self._id = np.uint32(number)\n",
        "        self._id = np.uint64(number)\n",
        "graph/test_graph.py::test_a_tensor_is_four_bytes",
    ),
    fault(
        "X-D6", "graph/kinds.py",
        "    CUSTOM = 11\n",
        "    CUSTOM = 11\n    OTHER = 12\n",
        "graph/test_graph.py::test_there_are_twelve_kinds",
    ),
    fault(
        "X-D8", "graph/graph.py",
        "        return tuple(x[axis] for axis in order) if sorted(order) == list(range(len(x))) else None\n",
        "        return node.shape\n",
        "graph/test_graph.py::test_wrong_shapes_are_found_when_a_node_is_made",
    ),
    fault(
        "X-D9", "graph/graph.py",
        "            if self.recorded is None or number not in self.recorded:\n"
        "                self._become_leaf(number)\n",
        "",
        "graph/test_graph.py::test_realize_without_a_tape_makes_a_leaf",
    ),
    fault(
        "X-D10", "graph/graph.py",
        "            if self.recorded is None or number not in self.recorded:\n"
        "                self._become_leaf(number)\n",
        "            self._become_leaf(number)\n",
        "graph/test_graph.py::test_realize_under_a_tape_keeps_what_the_tape_needs",
    ),
    fault(
        "X-D11", "graph/graph.py",
        "                    if number in self.slab and number in self.arrays:\n"
        "                        self._become_leaf(number)\n",
        "                    pass\n",
        "graph/test_graph.py::test_a_hundred_training_steps_leave_the_graph_as_it_was",
        "graph/test_leaks.py::test_training_by_tensors",
    ),
    fault(
        "X-D12", "graph/slab.py",
        '        self._words: array[int] = array("I")\n',
        '        self._words: array[int] = array("L")\n',
        "graph/test_slab.py::test_a_place_is_sixteen_bytes",
    ),
    fault(
        "X-A1", "graph/tape.py",
        "        found = _gradient(self._is_open, target, sources, zeros)\n        self.close()\n",
        "        found = _gradient(self._is_open, target, sources, zeros)\n",
        "graph/test_tape.py::test_gradient_uses_the_tape_up",
    ),
    fault(
        "Z-T1", "graph/nodes.py",
        "    return constant(1, x.dtype, x.shape)",
        "    return constant(1, np.float32, x.shape)",
        "graph/test_tensor.py::test_dtypes",
    ),
    fault(
        "Z-T6", "kernels/linear/reference.py",
        "    return dz @ weight if wants_input else None, dz.T @ x, sums.over(dz, 0)",
        "    return next_grad @ weight if wants_input else None, dz.T @ x, sums.over(dz, 0)",
        "kernels/test_references.py::test_values_and_slopes[linear with an activation]",
    ),
    fault(
        "X-A9", "graph/passes.py",
            "            if inputs[1].kind == Kind.CONST and inputs[1].extra == one:\n                return "
            "each.inputs[0]\n",
            "            if inputs[1].kind == Kind.CONST and inputs[1].extra == one:\n                return "
            "each.inputs[1]\n",
        "graph/test_program.py::test_constants_are_folded",
    ),
    fault(
        "X-H1", "graph/passes.py",
        "        return each if place == len(new) else place",
        "        return each if place >= 0 else place",
        "graph/test_program.py::test_equal_instructions_are_one",
    ),
    fault(
        "X-A2", "graph/operations/functions.py",
        "derivative=lambda g, x, y: g * y,\n",
        "derivative=lambda g, x, y: g * x,\n",
        "graph/test_derivatives.py::test_second_derivatives_against_differences_of_the_first",
        "graph/test_derivatives.py::test_against_central_differences",
    ),
    fault(
        "X-A10", "graph/custom.py",
        "    if not is_array(array) or array.shape != shape or array.dtype != dtype:\n",
        "    if False:\n",
        "graph/test_custom.py::test_forward_gives_what_result_said",
    ),
    fault(
        "X-A14", "graph/operations/functions.py",
        "    return Binary.MASKED(x > z, g) + Binary.MASKED(Binary.EQUAL(x, z), g * 0.5)\n",
        "    return Binary.MASKED(x > z, g)\n",
        "graph/test_derivatives.py::test_equal_numbers_share_the_derivative_of_the_larger",
    ),
    fault(
        "X-A16", "graph/normalisation.py",
        " - correction\n    if count < 1:",
        " + correction\n    if count < 1:",
        "graph/test_normalisation.py::test_both_variances",
    ),
    # ------------------------------------------------------------------ tokens
    fault(
        "C-D4", "data/tokenizer.py",
        "        if not line:  # ends the list\n            break\n",
        "        if not line:\n            continue\n",
        "data/test_tokenizer.py::test_an_empty_line_ends_the_merges",
    ),
    fault(
        "C-D6", "data/tokenizer.py",
        "_KEPT = [*range(33, 127), *range(161, 173), *range(174, 256)]\n",
        "_KEPT = [*range(33, 127), *range(161, 256)]\n",
        "data/test_tokenizer.py::test_bytes_as_characters",
    ),
    fault(
        "C-D2", "data/tokenizer.py",
        "| ?[a-zA-Z]+|",
        "| ?[a-zA-Z_]+|",
        "data/test_tokenizer.py::test_the_seeds_pattern",
    ),
    fault(
        "C-D9", "data/tokenizer.py",
        'return written.decode(errors="replace")',
        'return written.decode("latin-1")',
        "data/test_tokenizer.py::test_any_text_comes_back",
    ),
    fault(
        "C-D10", "data/tokenizer.py",
        "            tokens += [self.vocab[piece]] if place % 2 else self._encoded(piece)\n",
        "            tokens += [self.vocab[piece]] if piece in self.vocab else self._encoded(piece)\n",
        "data/test_tokenizer.py::test_special_tokens_only_where_allowed",
    ),
    fault(
        "C-R5", "cli/generation.py",
        "        for token in np.argsort(-scores[0], kind=\"stable\")[: options.top].tolist():\n",
        "        for token in np.argsort(scores[0], kind=\"stable\")[: options.top].tolist():\n",
        "cli/test_generate.py::test_the_likeliest_next_tokens",
    ),
    fault(
        "C-R7", "random/initialisers.py",
        "rng.normal(0.0, math.sqrt(2.0 / fans.of(self.fan)), shape)",
        "rng.normal(0.0, math.sqrt(2.0 / fans.fan_out), shape)",
        "test_random.py::test_first_weights_of_the_papers_experiment",
    ),
    fault(
        "P-C2", "data/csv.py",
        "matrix[:, 1:] if label == 0 else matrix[:, :-1]",
        "matrix[:, :-1] if label == 0 else matrix[:, 1:]",
        "data/test_csv.py::test_images_and_labels",
    ),
    fault(
        "P-E1", "data/dataset.py",
        "np.asarray(chunk, wide).sum(dtype=np.float64)",
        "np.asarray(chunk, wide).sum()",
        "data/test_dataset.py::test_moments_do_not_lose_digits",
    ),
    fault(
        "P-E2", "models/lenet5.py",
        "        >> Pad2d(2)\n        >> Conv2d(1, 6, 5, bias=bias",
        "        >> Pad2d((1, 3, 2, 2))\n        >> Conv2d(1, 6, 5, bias=bias",
        "models/test_lenet5.py::test_by_hand_and_stacked_are_the_same_bits",
    ),
    fault(
        "P-E5", "recipes/published.py",
        '    for part, paper, report in zip(("train", "test"), ACCURACIES, (train, test), strict=True):\n',
        '    for part, paper, report in zip(("train", "test"), ACCURACIES, (test, train), strict=True):\n',
        "recipes/test_recipes.py::test_table_one_beside_ours",
    ),
    fault(
        "P-E7", "module/calls.py",
        "        mode, state = switch.mode, self.__typednn_calls__\n",
        '        __import__("time").sleep(0.5)\n        mode, state = switch.mode, self.__typednn_calls__\n',
        "benchmarks/test_smoke.py::test_lenet5_at_the_papers_batch",
    ),
    fault(
        "P-E8", "kernels/softmax/reference.py",
        "namespace(x).exp(x - x.max(axis=1, keepdims=True))",
        '__import__("numpy").exp(x - x.max(axis=1, keepdims=True))',
        "laws/test_gradients.py::test_devices_agree[Softmax]",
    ),
    fault(
        "P-E9", "layers/sigmoid.py",
        "ElementwiseGrad(sigmoid.backward(next_grad, self._y), None)",
        "ElementwiseGrad(sigmoid.backward(next_grad, -self._y), None)",
        "examples/test_logic_gates.py::test_three_ways_one_result",
    ),
    fault(
        "P-D6", "cli/training.py",
        '        say(f"On the {test}:\\n\\n{result.test}\\n")\n',
        '        say(f"On the {test}:\\n\\n{result.train}\\n")\n',
        "cli/test_train.py::test_reports_on_both_sets",
    ),
    fault(
        "G-D11", "layers/linear.py",
        "        in_features: int,\n        out_features: int,\n        bias: bool = True,\n        *,\n",
        "        out_features: int,\n        in_features: int,\n        bias: bool = True,\n        *,\n",
        "parity/test_layers.py::test_linear_state_is_pytorchs_under_the_same_names",
    ),
    fault(
        "G-O1", "optim/adamw.py",
        "1.0 - settings.decay - lr * settings.weight_decay",
        "1.0 - settings.decay - settings.weight_decay",
        "optim/test_rules.py::test_three_steps_by_hand",
    ),
    fault(
        "G-C1", "cli/training.py",
        'f"generate {result.folder} --prompt TEXT" if writes',
        'f"predict {result.folder} TEXT" if writes',
        "cli/test_train.py::test_a_language_model",
    ),
    fault(
        "G-C2", "cli/generation.py",
        "XorShift64() if options.seed is None else XorShift64(options.seed)",
        "XorShift64()",
        "cli/test_generate.py::test_what_is_drawn",
        "cli/test_generate.py::test_gpt_c",
    ),
    fault(
        "G-C12", "backends/cupy_backend.py",
        '        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":\n',
        "        if False:\n",
        "backends/test_cupy_backend.py::test_without_cupy_the_extra_is_named",
    ),
    fault(
        "G-F3", "data/token_files.py",
        "    place = _HEADER\n",
        "    place = _HEADER + 4\n",
        "data/test_token_files.py::test_table",
    ),
    fault(
        "G-D21", "cli/tokens.py",
        'f"{part}\\n\\n" for part in parts',
        'f"{part}\\n" for part in parts',
        "cli/test_tokens.py::test_between_texts",
    ),
    fault(
        "Z-S1", "data/spiral.py",
        "4.0 * arm + 4.0 * radius",
        "4.0 * arm + 2.0 * radius",
        "data/test_spiral.py",
    ),
    fault(
        "Z-Y1", "layers/residual.py",
        "        total: Out = add(other, own)\n",
        "        total: Out = add(own, own)\n",
        "models/test_blocks.py::test_an_encoder_block",
    ),
    fault(
        "Z-E1", "layers/linear.py",
        "LinearGrad(dx, dweight, None if self.bias is None else dbias)",
        "LinearGrad(dx, dweight, None if self.bias is None else dbias * 0)",
        "examples/test_small_problems.py::test_the_line_is_found",
    ),
    fault(
        "Z-F8", "graph/plot.py",
        'f"  {each} -> {number}"',
        'f"  {number} -> {each}"',
        "graph/test_plot.py::test_nodes_and_edges",
    ),
    fault(
        "Z-F9", "kernels/bfloat16.py",
        "    return from_bfloat16(to_bfloat16(x))\n",
        "    return x\n",
        "kernels/test_linear_bfloat16.py::test_without_the_instruction",
    ),
    fault(
        "Z-N7", "tasks/language.py",
        '{"perplexity": report.perplexity, "token_accuracy": report.token_accuracy}',
        '{"perplexity": report.perplexity}',
        "recipes/test_language.py::test_epochs",
    ),
    fault(
        "Z-N1", "models/gpt2.py",
        '        rule = HeNormal() if self.initial == "he" else Normal(SPREAD)\n',
        '        rule = HeNormal("out") if self.initial == "he" else Normal(SPREAD)\n',
        "models/test_gpt2.py::test_a_head_of_its_own",
    ),
    fault(
        "Z-N2", "data/tokenizer.py",
        "        min_frequency=often,\n",
        "        min_frequency=often + 1,\n",
        "data/test_tokenizer.py::test_ninas_vocabulary",
    ),
    fault(
        "Z-N3", "recipes/texts.py",
        'for name in _NAMED for end in ("", "/")',
        'for end in ("", "/") for name in _NAMED',
        "data/test_tokenizer.py::test_ninas_vocabulary",
    ),
    fault(
        "Z-D10", "recipes/catalogue.py",
        '        optimizer={"type": "AdamW", "lr": 1e-3, "weight_decay": 0.0},\n',
        '        optimizer={"type": "AdamW", "lr": 1e-6, "weight_decay": 0.0},\n',
        "recipes/test_language.py::test_a_text_by_heart",
    ),
    fault(
        "Z-Y3", "models/gpt2_weights.py",
        "numbers.T if _TRANSPOSED.search(stored) else numbers",
        "numbers.T",
        "models/test_gpt2_weights.py::test_round_trip",
    ),
    fault(
        "C-D1", "data/tokenizer.py",
        "        self._engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)\n",
        "        self._engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=True)\n",
        "data/test_tokenizer.py::test_published_ids",
    ),
    fault(
        "C-D3", "data/tokenizer.py",
        "        self._engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)\n",
        "        self._engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False, "
        "use_regex=False)\n",
        "data/test_tokenizer.py::test_tokens_of_any_text",
    ),
    fault(
        "C-D5", "data/tokenizer.py",
        '        if number == 1 and line.startswith("#version"):\n',
        "        if number <= 2:\n",
        "data/test_tokenizer.py::test_published_counts",
    ),
    fault(
        "C-D7", "data/tokenizer.py",
        "            return numbers\n        chunks",
        "            return numbers[:-1]\n        chunks",
        "data/test_tokenizer.py::test_published_ids",
    ),
    fault(
        "C-D8", "data/tokenizer.py",
        "library.models.BPE(self.vocab, list(self.merges))",
        "library.models.BPE(self.vocab, list(reversed(self.merges)))",
        "data/test_tokenizer.py::test_merging_by_definition",
    ),
    fault(
        "C-D11", "data/tokenizer.py",
        "library.models.BPE(self.vocab, list(self.merges))",
        "library.models.BPE(self.vocab, list(self.merges[:100]))",
        "data/test_tokenizer.py::test_published_ids",
    ),
    fault(
        "C-R1", "data/tokenizer.py",
        'b"".join(self._bytes[token]',
        'b" ".join(self._bytes[token]',
        "data/test_tokenizer.py::test_published_ids",
    ),
    fault(
        "C-R2", "models/gpt2.py",
        '        self.gelu: GELU = GELU("tanh")\n',
        "        self.gelu: GELU = GELU()\n",
        "parity/test_gpt2.py::test_scores_and_greedy_text",
    ),
    fault(
        "C-R3", "models/gpt2.py",
        "        features = self.ln_f.forward(self.h.forward(features))\n",
        "        features = self.h.forward(features)\n",
        "parity/test_gpt2.py::test_scores_and_greedy_text",
    ),
    fault(
        "C-R8", "models/gpt2.py",
        "        features = self.drop.forward(self.wpe.forward(self.wte.forward(x)))\n",
        "        features = self.drop.forward(self.wte.forward(x))\n",
        "parity/test_gpt2.py::test_scores_and_greedy_text",
    ),
    fault(
        "C-R6", "kernels/linear_units.py",
        "= 2 * math.sqrt(2 / math.pi)",
        "= 2 * math.sqrt(2 / 3)",
        "kernels/test_known_values.py::test_golden",
    ),
    fault(
        "G-L3", "kernels/layer_norm/reference.py",
        "        inner = inner - _mean(by_normal)\n",
        "        pass\n",
        "parity/test_normalisation.py::test_layer_norm",
    ),
    fault(
        "G-P3", "kernels/attention/reference.py",
        "q.shape[3] ** -0.5",
        "q.shape[3] ** -1.0",
        "parity/test_attention.py::test_multi_head_attention",
    ),
    fault(
        "X-D1", "graph/nodes.py",
        "    return Tensor(graph.push(Kind.BINARY, operation, code, shape, a, b))\n",
        "    return Tensor(graph.push(Kind.BINARY, operation, code, shape, a, b)).realize()\n",
        "graph/test_graph.py::test_nothing_is_computed_before_realize",
    ),
    fault(
        "X-D7", "graph/attention.py",
        "    return permute(matmul(powers, values) / totals, (0, 2, 1, 3))\n",
        "    return permute(matmul(powers, values), (0, 2, 1, 3))\n",
        "graph/test_attention.py::test_made_of_the_twelve_kinds",
        "graph/test_attention.py::test_every_query_reads_by_its_scores",
    ),
    fault(
        "X-D13", "graph/plot.py",
        "node.references > read_by_nodes[number]",
        "node.references >= read_by_nodes[number]",
        "graph/test_plot.py::test_nodes_and_edges",
    ),
    fault(
        "X-D14", "graph/running.py",
        "    if is_on(Debug.PROGRAM):\n",
        "    if is_on(Debug.GROUPS):\n",
        "graph/test_debugging.py::test_each_bit_prints_its_part_alone",
        "graph/test_debugging.py::test_the_variable_of_the_environment",
    ),
    fault(
        "X-A3", "graph/tensor.py",
        '    __slots__ = ("_id",)\n',
        '    __slots__ = ("_id", "requires_grad")\n',
        "graph/test_tape.py::test_no_requires_grad_and_no_no_grad",
    ),
    fault(
        "X-A4", "graph/tensor.py",
        "        view.flags.writeable = False\n",
        "",
        "graph/test_tape.py::test_tensors_cannot_be_changed",
    ),
    fault(
        "X-A6", "errors/debugging.py",
        "not 0 <= int(value) <= most:",
        "not 0 <= int(value):",
        "graph/test_debugging.py::test_other_masks_are_refused",
    ),
    fault(
        "X-A7", "graph/grouping.py",
        "_MOST_OUTPUTS: Final = 8\n",
        "_MOST_OUTPUTS: Final = 1\n",
        "graph/test_grouping.py::test_forward_and_gradient_of_rows_are_at_most_three_kernels",
        "graph/test_grouping.py::test_results_of_one_space_are_one_kernel_unless_something_lies_between",
    ),
    fault(
        "X-A8", "graph/running.py",
        "        plan = _plans.get(key)\n",
        "        plan = None\n",
        "graph/test_running.py::test_a_loop_compiles_nothing_after_its_first_step",
    ),
    fault(
        "X-A11", "graph/nodes.py",
        "        if tuple(array.shape) != tuple(shape) or array.dtype != np.dtype(dtype):\n",
        "        if tuple(array.shape) != tuple(shape):\n",
        "graph/test_tensor.py::test_lazy_leaves_read_when_they_are_needed",
    ),
    fault(
        "X-A13", "graph/nodes.py",
        "    elif code != other:\n",
        "    elif False and code != other:\n",
        "graph/test_tensor.py::test_what_is_refused",
    ),
    fault(
        "X-A15", "graph/counting.py",
        "cast_to(binary(Binary.EQUAL, unsqueeze(indices, -1), places), dtype)",
        "cast_to(binary(Binary.GREATER_EQUAL, unsqueeze(indices, -1), places), dtype)",
        "graph/test_movement.py::test_one_hot",
    ),
    fault(
        "X-A17", "graph/operations/reduce.py",
        "value=lambda x, axes: x.max(axis=axes),\n",
        "value=lambda x, axes: x.min(axis=axes),\n",
        "graph/test_zyx_values.py::test_reduce",
    ),
    fault(
        "Z-T2", "graph/activations.py",
        "    return near * sigmoid(near)\n",
        "    return near * sigmoid(-near)\n",
        "graph/test_elementwise.py::test_values_are_those_of_numpy",
    ),
    fault(
        "Z-T3", "graph/elementwise.py",
        '    return binary(Binary.SUBTRACT, *pair_of("subtract", x, y))\n',
        '    return binary(Binary.ADD, *pair_of("subtract", x, y))\n',
        "graph/test_elementwise.py::test_values_are_those_of_numpy",
    ),
    fault(
        "Z-T4", "graph/reductions.py",
        "    count = product([x.shape[each] for each in axes]) - correction\n",
        "    count = product([x.shape[each] for each in axes])\n",
        "graph/test_reductions.py::test_values_are_those_of_numpy",
    ),
    fault(
        "Z-T5", "graph/selection.py",
        '        xp.add.at(total, (*[slice(None)] * first, _in_range("take", indices, self.size)), values)\n',
        '        total[(*[slice(None)] * first, _in_range("take", indices, self.size))] = values\n',
        "graph/test_movement.py::test_derivatives_are_central_differences[reference-take]",
    ),
    fault(
        "Z-F1", "graph/operations/functions.py",
        "derivative=lambda g, x, y: g * 0.5 / y,\n",
        "derivative=lambda g, x, y: g / y,\n",
        "graph/test_elementwise.py::test_derivatives_are_central_differences",
    ),
    fault(
        "X-N1", "kernels/attention/projections.py",
        "        return (qkv,), *attention.self_forward(qkv, layer.num_heads, mask, layer.causal, drawn), drawn\n",
        "        return (qkv,), *attention.self_forward(qkv, layer.num_heads, mask, False, drawn), drawn\n",
        "models/test_blocks.py::test_an_encoder_block",
    ),
    fault(
        "X-N2", "module/module.py",
        "                cell.array[...] = to_device(array, module.device)\n",
        "",
        "graph/test_graph_layer.py::test_weights_are_saved_and_read_back",
    ),
    fault(
        "X-O1", "optim/rmsprop.py",
        "        return lr, self.alpha, 1 - self.alpha, ",
        "        return lr, 1 - self.alpha, self.alpha, ",
        "optim/test_rules.py::test_any_steps_by_hand",
        "optim/test_rules.py::test_three_steps_by_hand",
    ),
    fault(
        "X-E1", "kernels/linear/reference.py",
        "    return dz @ weight if wants_input else None, dz.T @ x, sums.over(dz, 0)",
        "    return dz @ weight if wants_input else None, dz.T @ x * 1.1, sums.over(dz, 0)",
        "examples/test_graph_mnist.py::test_both_nets_have_the_same_losses",
    ),
    fault(
        "P-T2", "tensors.py",
        "    return given.reshape(sizes).copy()\n",
        '    return given.reshape(sizes).copy(order="F")\n',
        "test_tensors.py::test_row_major_strides",
    ),
    fault(
        "P-T5", "tensors.py",
        "kernel[::-1, ::-1], stride",
        "kernel[::-1], stride",
        "kernels/test_conv2d.py::test_convolution_turns_the_kernel_round",
    ),
    fault(
        "P-T7", "graph/reductions.py",
        "    distances = reshape(arange(size, 0, -1), ",
        "    distances = reshape(arange(1, size + 1), ",
        "test_tensors.py::test_of_equal_maxima_the_first_wins",
    ),
    fault(
        "P-T12", "tensors.py",
        "    return total // 2, total - total // 2\n",
        "    return total - total // 2, total // 2\n",
        "test_tensors.py::test_padding_sizes",
        "kernels/test_pad2d.py::test_same_padding",
    ),
    fault(
        "P-T13", "tensors.py",
        "down * (height - 1) + 1, across * (width - 1) + 1, channels)",
        "down * height, across * width, channels)",
        "test_tensors.py::test_dilation_spreads_pixels",
        "kernels/test_conv2d.py::test_dilate2d_fixture",
    ),
    fault(
        "P-E13", "layers/pad2d.py",
        "Pad2dGrad(pad2d.backward(next_grad, ",
        "Pad2dGrad(pad2d.backward(-next_grad, ",
        "test_paper_fixtures.py",
    ),
    fault(
        "G-T1", "graph/random.py",
        "    return tensor(np.asarray(generator.standard_normal(sizes)).astype(kind))\n",
        "    return tensor(np.asarray(generator.random(sizes)).astype(kind))\n",
        "test_tensors.py::test_what_a_tensor_library_offers",
    ),
    fault(
        "G-L1", "random/initialisers.py",
        "    a: float = math.sqrt(5.0)\n    fan",
        "    a: float = math.sqrt(2.0)\n    fan",
        "parity/test_defaults.py::test_initial_values_are_pytorchs",
    ),
    fault(
        "G-L5", "kernels/softmax/reference.py",
        "    dx: Array2 = (next_grad - (next_grad * y).sum(axis=1, keepdims=True)) * y\n",
        "    dx: Array2 = (next_grad - (next_grad * y).sum(axis=1, keepdims=True)) * y * (1 - y)\n",
        "kernels/test_known_values.py::test_softmaxs_derivative_is_the_jacobian",
    ),
    fault(
        "Z-D1", "kernels/reshape.py",
        "from typednn.kernels.op import op\n",
        "from typednn.kernels.op import op\n\n\ndef later() -> None:\n    import typednn.layers\n\n\n",
        "repo/test_floors.py::test_every_contract_is_kept",
    ),
    fault(
        "Z-D7", "models/gpt2.py",
        "y = add(x, self.attn_dropout.forward(self.attn.forward(self.ln_1.forward(x))))",
        "y = add(x, self.attn.forward(self.ln_1.forward(x)))",
        "models/test_gpt2.py::test_each_output_of_a_block_is_dropped",
    ),
    fault(
        "Z-T8", "random/initialisers.py",
        "        bound = math.sqrt(6.0 / fans.of(self.fan))\n"
        "        return rng.uniform(-bound, bound, shape)\n"
        "\n"
        "\n"
        "@final\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class XavierNormal",
        "        bound = math.sqrt(3.0 / fans.of(self.fan))\n"
        "        return rng.uniform(-bound, bound, shape)\n"
        "\n"
        "\n"
        "@final\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class XavierNormal",
        "test_random.py::test_uniform_rules",
    ),
    fault(
        "Z-N6", "data/tokenizer.py",
        "library.models.BPE(self.vocab, list(self.merges))",
        "library.models.BPE(self.vocab, list(self.merges[:1]))",
        "data/test_tokenizer.py::test_ninas_own_tests",
    ),
    fault(
        "X-A5", "errors/debugging.py",
        "        _masks[:] = [other for other in _masks if other is not own]\n",
        "        pass\n",
        "graph/test_debugging.py::test_sums_combine_and_nothing_is_the_default",
    ),
]  # fmt: skip
