# SPDX-License-Identifier: Apache-2.0
"""Follows docs/add-an-operator.md: writes the files that it shows under the names that it gives,
runs its commands in order, and looks at what they say.

A file is a fenced block after a line that holds nothing but its name in backticks; a command is a
block of sh. ROOFMARK names the program.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "add-an-operator.md"
BLOCK = re.compile(r"(?:^`([^`\n]+)`\n\n)?^```(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPERATOR = "my-operators/relu_squared"
FILES = ("operator.toml", "reference.py", "shapes.jsonl")


def read_document():
    """The files by name, and the blocks of commands."""
    files, commands = {}, []
    for name, language, text in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")):
        if name:
            files[name] = text
        elif language == "sh":
            commands.append(text)
    return files, commands


def run(files, commands):
    """What each block of commands prints; they share a shell, as they would at a desk."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (root / "bin").mkdir()
        (root / "bin" / "roofmark").symlink_to(os.environ["ROOFMARK"])
        environment = dict(os.environ, PATH=f"{root / 'bin'}:{os.environ['PATH']}", TMPDIR=folder)
        done = subprocess.run(
            ["bash", "-e", "-c", "\necho =====\n".join(commands)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=240,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace").split("=====\n")


class AddAnOperator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files, cls.commands = read_document()
        cls.code, cls.output = run(cls.files, cls.commands)

    def test_takes_under_60_lines(self):
        lines = sum(len(self.files[f"{OPERATOR}/{name}"].splitlines()) for name in FILES)
        self.assertLess(lines, 60)

    def test_its_commands_succeed(self):
        self.assertEqual(self.code, 0, "\n".join(self.output))
        self.assertEqual(len(self.output), 3)

    def test_the_operator_is_found_in_the_users_folder(self):
        self.assertIn("relu_squared: out = max(x, 0)^2", self.output[0])
        self.assertRegex(self.output[0], r"prefill-8k +.*memory")

    def test_an_honest_kernel_passes(self):
        self.assertRegex(self.output[1], r"s-odd +relu_squared +passed")
        self.assertIn("2 verdicts, 0 not passed", self.output[1])

    def test_a_wrong_kernel_is_refused(self):
        self.assertRegex(self.output[2], r"s-odd +square +wrong_output")
        self.assertIn("2 verdicts, 2 not passed", self.output[2])
        self.assertIn("refused, exit code 1", self.output[2])


if __name__ == "__main__":
    unittest.main()
