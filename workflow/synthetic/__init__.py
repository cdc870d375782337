"""Worlds made here: the toy world with known truth, and the rehearsal at full size. Plug-ins of the library."""
