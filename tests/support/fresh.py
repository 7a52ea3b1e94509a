"""The modules that code imports in a new interpreter."""

import json
import subprocess
import sys
from collections.abc import Mapping

_ONE_AFTER_ANOTHER = """
import json, sys, traceback
after = {}
for name, code in json.load(sys.stdin).items():
    try:
        exec(code, globals())
    except Exception:
        sys.exit(f"{name}: {traceback.format_exc()}")
    after[name] = sorted(sys.modules)
print(json.dumps(after))
"""


def modules_after(pieces: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that are loaded after each piece of code, by its name; they run in turn in one process."""
    command = [sys.executable, "-c", _ONE_AFTER_ANOTHER]
    done = subprocess.run(command, input=json.dumps(dict(pieces)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: set(modules) for name, modules in json.loads(done.stdout.splitlines()[-1]).items()}
