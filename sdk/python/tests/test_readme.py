"""The programs of the README and of the guide run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from player import PROGRAM

HERE = Path(__file__).parents[1]
TEXT = (HERE / "README.md").read_text() + (HERE / "GUIDE.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


class Readme(unittest.TestCase):
    def test_readme_programs_run_and_print_answers(self) -> None:
        self.assertEqual(len(PROGRAMS), 4)
        for program in PROGRAMS:
            with self.subTest(program), tempfile.TemporaryDirectory() as home:
                Path(home, "pi-rpc").symlink_to(PROGRAM)
                environment = {"PATH": f"{home}:{os.environ['PATH']}", "HOME": home, "PYTHONPATH": str(HERE)}
                command = [sys.executable, "-c", program]
                run = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, timeout=60)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertIn("I am pi-rpc's built-in scripted demo", run.stdout)

    def test_its_programs_are_well_typed(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            files = [Path(home, f"program_{number}.py") for number, _ in enumerate(PROGRAMS)]
            for file, program in zip(files, PROGRAMS):
                file.write_text(program)
            command = [sys.executable, "-m", "mypy", "--config-file", str(HERE / "pyproject.toml"), *map(str, files)]
            checked = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)


if __name__ == "__main__":
    unittest.main()
