"""The command that lets a shell complete words: completion. Needs shtab, the extra ``typednn[completion]``."""

from argparse import Action, Namespace
from typing import Any

from typednn.cli.output import say
from typednn.cli.parser import parser
from typednn.cli.training_arguments import MODELS
from typednn.errors import optional

# A function of each shell for a model's name or a config's path.
_NAMES = " ".join(MODELS)
_MODEL = {
    "bash": "_typednn_models",
    "zsh": "_typednn_models",
    "fish": f"(string split ' ' '{_NAMES}'; __fish_complete_path (commandline -ct))",
}
_PREAMBLE = {
    "bash": f'_typednn_models() {{\n  compgen -W "{_NAMES}" -- "$1"\n  compgen -f -- "$1"\n}}\n',
    "zsh": f"_typednn_models() {{\n  _alternative 'models:model:({_NAMES})' 'files:file:_files'\n}}\n",
}
# What stands in place of an argument or behind an option, by its name in the options.
_FOLDERS = ("run", "start", "tokenizer")
_FILES = ("files", "data", "values", "targets", "subject")
_MODELS = ("recipe", "model")


def completion(options: Namespace) -> int:
    """The script that the shell reads."""
    shtab: Any = optional("shtab", "completion", "needs the package shtab", "pip install 'typednn[completion]'")
    top = parser()
    for action in _actions(top):
        kind = {
            **dict.fromkeys(_FOLDERS, shtab.DIRECTORY),
            **dict.fromkeys(_FILES, shtab.FILE),
            **dict.fromkeys(_MODELS, _MODEL),
        }
        if action.dest in kind and action.nargs != 0:
            vars(action)["complete"] = kind[action.dest]
    script: str = shtab.complete(top, options.shell, preamble=_PREAMBLE)
    say(script.rstrip("\n"))
    return 0


def _actions(top: Any) -> list[Action]:
    """The arguments of every command."""
    (commands,) = (action.choices for action in top._actions if action.dest == "command")
    return [action for command in commands.values() for action in command._actions]
