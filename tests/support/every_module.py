"""Import every module of the project: `python tests/support/every_module.py`."""

import importlib
import logging
import pkgutil
import threading


def import_all(package: str) -> int:
    """Import a package and all modules below it; return how many."""
    walk = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    below = [module.name for module in walk if not module.name.endswith("__main__")]  # which acts when imported
    for name in below:
        importlib.import_module(name)
    return 1 + len(below)


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # a page that is imported warns that it has no visitor
    for package in ("core", "dashboard", "sentiscope"):
        print(f"{package}: {import_all(package)} modules")
    for thread in threading.enumerate():  # a page that is imported begins what a visitor would wait for
        if thread.daemon:
            thread.join()
