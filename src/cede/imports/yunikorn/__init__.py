"""Apache YuniKorn: its queue configuration, with the state that its REST API dumps if given, as a cluster file.

The configuration is read as strictly as YuniKorn reads it; the dump, which differs between releases, is not. Amounts
of `vcore` are in cores, wherever they come from.
"""
