"""Which spellings are one key: a flag in kebab and snake case or by another of its names, `setup` and `setup_file`."""

from launcher.model.catalogue import Catalogue
from launcher.model.manifest import Manifest
from launcher.model.merge import Identity
from launcher.text.document import KeyPath

_FLAGS, _CONFIG = ("flags",), ("config",)


def role_key(path: KeyPath, key: str) -> str:
    """The identity of a key in a role's table."""
    if path in (_FLAGS, _CONFIG):
        return key.replace("_", "-")
    return "setup" if path == () and key == "setup_file" else key


def recipe_key(path: KeyPath, key: str) -> str:
    """The identity of a key in a recipe."""
    if path[:1] in (("defaults",), ("router",), ("benchmark",)):
        return role_key(path[1:], key)
    if path[:1] == ("roles",) and len(path) > 1:
        return role_key(path[2:], key)
    return key


def program_key(catalogue: Catalogue, manifest: Manifest) -> Identity:
    """The identity of a key in the table of a role that runs the catalogue's program."""
    tables = (_FLAGS, _CONFIG) if manifest.config_flags else (_FLAGS,)

    def identity(path: KeyPath, key: str) -> str:
        if path not in tables:
            return role_key(path, key)
        kebab = role_key(path, key)
        # A spelling that the program has not is refused later; until then it means the flag it is near to.
        flag = catalogue.find(key) or catalogue.find(kebab) or catalogue.find(kebab.replace("-", "_"))
        return min(*flag.spellings, *flag.negatives, flag.name) if flag else kebab

    return identity
