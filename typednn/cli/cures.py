"""Wrong turns on the command line, and the way back: what people type who come from other tools, beside what it is
called here.
"""

from collections.abc import Iterable
from typing import Final

from typednn.errors import closest, suggestion

# Commands of other tools, and the call that does the same here.
COMMANDS_ELSEWHERE: Final = {
    "fit": "typednn train MODEL trains",
    "learn": "typednn train MODEL trains",
    "run": "typednn train MODEL trains, and typednn predict RUN FILE uses what was trained",
    "start": "typednn train MODEL trains",
    "finetune": "typednn train MODEL --from PATH starts from weights; with --freeze -1 only the last layer learns",
    "fine-tune": "typednn train MODEL --from PATH starts from weights; with --freeze -1 only the last layer learns",
    "test": "typednn eval RUN measures a run on its test set",
    "evaluate": "typednn eval RUN measures a run on its test set",
    "validate": "typednn eval RUN measures a run on its test set",
    "score": "typednn eval RUN measures a run on its test set",
    "infer": "typednn predict RUN FILE answers for new inputs",
    "inference": "typednn predict RUN FILE answers for new inputs",
    "classify": "typednn predict RUN FILE answers for new inputs",
    "deploy": "typednn serve RUN answers in a browser and over HTTP",
    "server": "typednn serve RUN answers in a browser and over HTTP",
    "api": "typednn serve RUN answers in a browser and over HTTP",
    "sample": "typednn generate RUN --prompt TEXT writes text",
    "complete": "typednn generate RUN --prompt TEXT writes text",
    "chat": "typednn generate RUN --interactive continues what you type",
    "tokenize": "typednn tokens encode --tokenizer FOLDER TEXT gives the tokens of a text",
    "encode": "typednn tokens encode --tokenizer FOLDER TEXT gives the tokens of a text",
    "decode": "typednn tokens decode --tokenizer FOLDER LIST gives the text of tokens",
    "continue": "typednn resume RUN goes on with a run",
    "restart": "typednn resume RUN goes on with a run",
    "init": "typednn new NAME writes a project",
    "create": "typednn new NAME writes a project",
    "startproject": "typednn new NAME writes a project",
    "plot": "typednn report RUN draws the pictures, and writes a page with them",
    "show": "typednn summary MODEL prints a model, and typednn report RUN a page about a run",
    "view": "typednn summary MODEL prints a model, and typednn report RUN a page about a run",
    "describe": "typednn summary MODEL prints a model with its shapes",
    "inspect": "typednn summary MODEL prints a model with its shapes",
    "verify": "typednn check TARGET checks sizes, and typednn gradcheck MODEL derivatives",
    "lint": "typednn check TARGET checks sizes",
    "list": "typednn runs lists runs, and typednn train --help names the models",
    "ls": "typednn runs lists runs",
    "compare": "typednn report RUN RUN compares runs on one page, and typednn runs lists them",
    "models": "typednn train --help names the models",
    "version": "typednn --version prints it",
    "doctor": "typednn info says what is installed, and what the machine has",
    "env": "typednn info says what is installed, and what the machine has",
}

# Options of other tools, without their dashes, and what is said here.
_CPU = "commands train on the CPU; in Python model.to('cuda') uses a GPU"
_RUN = "--run DIR names the run folder"
OPTIONS_ELSEWHERE: Final = {
    "device": _CPU,
    "gpu": _CPU,
    "gpus": _CPU,
    "cuda": _CPU,
    "accelerator": _CPU,
    "cpu": "commands train on the CPU anyway",
    "num-epochs": "--epochs N",
    "n-epochs": "--epochs N",
    "max-epochs": "--epochs N",
    "nb-epoch": "--epochs N",
    "iterations": "--set max_steps=N",
    "steps": "--set max_steps=N",
    "batch": "--batch-size N",
    "bs": "--batch-size N",
    "per-device-train-batch-size": "--batch-size N",
    "eta": "--lr LR",
    "rate": "--lr LR",
    "random-state": "--seed N",
    "random-seed": "--seed N",
    "manual-seed": "--seed N",
    "momentum": "--set optimizer.momentum=0.9",
    "nesterov": "--set optimizer.nesterov=true",
    "weight-decay": "--set optimizer.weight_decay=0.01",
    "wd": "--set optimizer.weight_decay=0.01",
    "beta1": "--set 'optimizer.betas=[0.9, 0.99]'",
    "beta2": "--set 'optimizer.betas=[0.9, 0.99]'",
    "opt": "--optimizer adam",
    "solver": "--optimizer adam",
    "scheduler": """--set 'optimizer.lr={ type = "CosineLR", lr = 0.1 }'""",
    "lr-scheduler": """--set 'optimizer.lr={ type = "CosineLR", lr = 0.1 }'""",
    "warmup": "--set optimizer.lr.warmup_steps=100",
    "warmup-steps": "--set optimizer.lr.warmup_steps=100",
    "grad-clip": "--set clip_grad_norm=1.0",
    "clip-grad": "--set clip_grad_norm=1.0",
    "gradient-accumulation-steps": "--set accumulate=4",
    "early-stopping": "--set patience=3 --set validation=0.1",
    "k-folds": "--folds 5",
    "kfold": "--folds 5",
    "cv": "--folds 5",
    "cross-validation": "--folds 5",
    "freeze-layers": "--freeze -1",
    "freeze-backbone": "--freeze -1",
    "trainable": "--freeze -1",
    "val-split": "--set validation=0.1",
    "validation-split": "--set validation=0.1",
    "criterion": "--set loss=mse",
    "label-smoothing": "--set smoothing=0.1",
    "normalize": "--set standardise=true",
    "normalise": "--set standardise=true",
    "standardize": "--set standardise=true",
    "dataset": "--data NAME_OR_DIR",
    "data-dir": "--data DIR",
    "data-path": "--data DIR",
    "train-data": "--data NAME_OR_DIR, or two CSV files: train.csv test.csv",
    "input": "--data NAME_OR_DIR",
    "label": "--target COLUMN",
    "labels": "--target COLUMN",
    "label-column": "--target COLUMN",
    "target-column": "--target COLUMN",
    "y": "--target COLUMN",
    "arch": "--model NAME",
    "architecture": "--model NAME",
    "network": "--model NAME",
    "config": "a config's path is no option: typednn train model.toml",
    "output": _RUN,
    "out": _RUN,
    "output-dir": _RUN,
    "out-dir": _RUN,
    "save-dir": _RUN,
    "log-dir": _RUN,
    "logdir": _RUN,
    "project": _RUN,
    "resume": "typednn resume RUN goes on with a run",
    "resume-from": "typednn resume RUN goes on with a run",
    "checkpoint": "typednn resume RUN goes on with a run; --from FOLDER starts from given weights",
    "ckpt": "typednn resume RUN goes on with a run; --from FOLDER starts from given weights",
    "pretrained": "there are no pretrained weights; --from PATH starts from given ones",
    "num-workers": "--set workers=4",
    "image-size": "--set image=64",
    "img-size": "--set image=64",
    "imgsz": "--set image=64",
    "size": "--set image=64",
    "augmentation": "--set augment=RandomHorizontalFlip",
    "class-weights": "--set class_weight=balanced",
    "class-weight": "--set class_weight=balanced",
    "top-k": "--set top_k=5",
    "threads": "the environment's TYPEDNN_THREADS sets the threads of kernels",
    "fp16": "training is in float32",
    "bf16": "training is in float32; typednn generate has --dtype bfloat16",
    "amp": "training is in float32",
    "precision": "training is in float32",
    "verbose": "--debug shows the traceback of an error, -q is quiet",
    "v": "--debug shows the traceback of an error, -q is quiet; typednn --version",
    "silent": "-q is quiet",
    "format": "--to FORMAT",
    "watch-mode": "--watch",
    "output-format": "--format FORMAT",
    "best": "--weights best",
    "bind": "--host ADDRESS",
    "listen": "--host ADDRESS",
    "allowed-hosts": "--allow-host NAME",
    "server-name": "--allow-host NAME",
    "report-to": "--track wandb",
    "logger": "--track wandb",
    "tracker": "--track wandb",
    "wandb": "--track wandb",
    "mlflow": "--track mlflow",
    "num-samples": "repeat --prompt for more texts",
    "max-new-tokens": "--max-tokens N",
    "length": "--max-tokens N",
    "max-length": "--max-tokens N",
    "temp": "--temperature T",
}


def for_command(word: str, commands: Iterable[str]) -> str:
    """What is said to one who typed ``word`` in place of a command."""
    known = list(commands)
    if word in COMMANDS_ELSEWHERE:
        return COMMANDS_ELSEWHERE[word]
    return suggestion(word, known)


def for_option(word: str, options: Iterable[str], settings: Iterable[str] = ()) -> str:
    """What is said to one who typed the option ``word``, such as ``--devise``; "" for nothing. ``settings`` are those
    of ``--set``.
    """
    known = list(options)
    name = word.partition("=")[0].lstrip("-").replace("_", "-").lower()
    if f"--{name}" in known:
        return f"did you mean '--{name}'?"
    told = OPTIONS_ELSEWHERE.get(name, "")
    # What another command takes is no help here.
    if told and not (told.startswith("--") and told.split()[0] not in known):
        return f"here it is: {told}" if told.startswith("--") else told
    if name.replace("-", "_") in settings:
        return f"here it is: --set {name.replace('-', '_')}=VALUE"
    near = closest(f"--{name}", known, 0.7)
    return f"did you mean {near!r}?" if near else ""
