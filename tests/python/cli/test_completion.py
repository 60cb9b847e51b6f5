"""Completion scripts, tested with the shells themselves."""

import shlex
import subprocess

import pytest
from conftest import ROOT

from headstack import cli, drives
from headstack.cli import completion, main

#: Text typed so far, and some of the words that are suggested.
OFFERS = [
    ("headstack tr", {"trace-info"}),
    ("headstack ", set(cli.NAMES)),
    ("headstack run --fo", {"--format"}),
    ("headstack run --format ", {"text", "markdown", "csv"}),
    ("headstack run examples/dem", {"examples/demo.toml"}),
    ("headstack drives barr", {"barracuda-es-750"}),
    ("headstack drives ", {*drives.names(), "new"}),
    ("headstack drives barracuda-es-750 --pl", {"--plot"}),
    ("headstack drives new mine --ca", {"--capacity", "--cache"}),
    ("headstack models sched", {"scheduler"}),
    ("headstack trace-info --from ms", {"msr"}),
    ("headstack convert --on-error ", {"fail", "skip"}),
    ("headstack reproduce isca", {"isca08"}),
    ("headstack completion ", {"bash", "zsh", "fish"}),
]

BASH = """
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_headstack
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(shell: str, script: str, line: str) -> set[str]:
    """Return the words that a shell suggests after `line`."""
    if shell == "bash":
        words = [*shlex.split(line), *[""] * line.endswith(" ")]
        script += BASH.format(words=shlex.join(words))
    else:
        script += f"\ncomplete -C {shlex.quote(line)}\n"
    command = [shell, "--norc" if shell == "bash" else "--no-config"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr == ""
    return {row.partition("\t")[0] for row in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bash", "fish")])
def test_shells_offer_commands_options_and_names(shell):
    script = completion.script(shell)
    for line, want in OFFERS:
        got = offered(shell, script, line)
        assert want <= got, (line, got)
        typed = line.rpartition(" ")[2]
        assert all(entry.startswith(typed) for entry in got), (line, got)


@pytest.mark.needs("zsh")
def test_zsh_reads_its_script():
    script = completion.script("zsh")
    subprocess.run(["zsh", "-n"], input=script, text=True, check=True)
    assert script.startswith("#compdef headstack\n")
    for name in cli.NAMES:
        assert f"_shtab_headstack_{name.replace('-', '_')}_options" in script


def test_scripts_hold_every_command_and_option(capsys):
    for shell in completion.SHELLS:
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert script == completion.script(shell) + "\n"
        for name in cli.NAMES:
            assert name in script, (shell, name)
        assert "on-error" in script
