# SPDX-License-Identifier: Apache-2.0
"""Which files the checks of the tree look at, so that all of them agree on it.

In a git checkout these are the tracked files and those that git does not ignore; elsewhere (a
source archive) everything outside the folders that building makes.
"""

import pathlib
import subprocess

MADE = {"build", "bundle", "demo", "__pycache__", ".git"}


def tree_files(root):
    """Paths relative to `root`, sorted."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z", "--cached",
                   "--others", "--exclude-standard"]
        done = subprocess.run(command, capture_output=True)
        if done.returncode == 0:
            names = done.stdout.decode().split("\0")
            return sorted({pathlib.Path(name) for name in names
                           if name and (root / name).is_file()})
    return sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file()
                  and not MADE.intersection(path.relative_to(root).parts))


def report(name, problems):
    """Prints each problem and a closing line; the exit code of the check."""
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problem{'' if len(problems) == 1 else 's'}")
    return 1 if problems else 0
