"""How long a test waits for what is sure to come.

A machine may be slow, or busy with something else: a limit is there to end a test that hangs, never to judge
how fast something was. It costs nothing where the product is right. HUBBUB_PATIENCE_S shortens it where a
failure is what is expected, as with planted faults.
"""

import os

PATIENCE_S = float(os.environ.get("HUBBUB_PATIENCE_S", "60"))
