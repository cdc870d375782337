"""Exit early with an instruction if the Python that make uses cannot set up the environment."""

import sys
from importlib.util import find_spec

if sys.version_info < (3, 11):
    sys.exit(
        f"Error: Reprise needs Python 3.11 or newer, this is {sys.version.split()[0]}. "
        "Install a newer one and name it: make demo PYTHON=python3.12"
    )
if find_spec("ensurepip") is None:
    sys.exit("Error: this Python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv")
