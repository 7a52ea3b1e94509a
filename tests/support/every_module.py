"""Import every module of the project: `python tests/support/every_module.py`."""

import importlib
import logging
import pkgutil
import threading


def import_all(package: str) -> int:
    """Import a package and all modules below it; return how many."""
    walk = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    below = [module.name for module in walk if not module.name.endswith("__main__")]  # runs on import
    for name in below:
        importlib.import_module(name)
    return 1 + len(below)


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # an imported page warns that it has no session
    for package in ("core", "dashboard", "sentiscope"):
        print(f"{package}: {import_all(package)} modules")
    for thread in threading.enumerate():  # an imported page starts background threads
        if thread.daemon:
            thread.join()
