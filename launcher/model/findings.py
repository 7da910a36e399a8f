"""The codes that linking, and the reading of files for it, refuse with; the page `launch explain CODE` prints."""

from collections.abc import Mapping

EXPLANATIONS: Mapping[str, str] = {
    "unknown-key": """A key that nothing reads

Every key of a recipe, role manifest or cluster file does something; one that does nothing is refused,
so that a misspelt key cannot be lost without a word. Variants and `[on.CLUSTER]` tables that are not
chosen are looked at too.

    [ready]
    timout = "45m"        # unknown key `timout` in `[ready]`: did you mean `timeout`?""",
    "missing-key": """A key that must be there

`schema` says which version of the format a file is written in; a recipe needs a `name` (its own or that
of a recipe it `extends`), a mount both its ends, a gate its `kind` and `url`.""",
    "wrong-type": """A value of the wrong type

Nothing is converted: `replicas = "2"` is a string where an integer is wanted, and `env = { DEBUG = 1 }`
an integer where every value is a string. Write `replicas = 2` and `env = { DEBUG = "1" }`.""",
    "wrong-value": """A value outside what the key takes

The type is right and the value is not: a number out of range, a word that is not one of a few, a name
with characters that names cannot have, a duration or size that cannot be read.""",
    "written-twice": """One key under two spellings in one table

A flag in kebab case and in snake case is one flag, whatever layer it is written in; so are two names
that the program has for one flag, and `setup` and `setup_file`. In different layers the upper one wins;
in one table nobody can tell which was meant.

    flags = { max-model-len = 8192, max_model_len = 16384 }""",
    "extends-cycle": """Recipes that extend each other in a circle

`extends` names the recipe that lies under this one. Followed from recipe to recipe it must end.""",
    "extends-too-deep": """Recipes that extend each other too many times

A recipe may stand on at most 16 others. Longer chains are a mistake more often than a wish, and nobody
can say which file sets a key.""",
    "unknown-variant": """A variant the recipe does not have

`FILE:NAME` chooses `[variants.NAME]` of the recipe or of one that it extends. Exit code 2.""",
    "unknown-cluster": """A cluster that no file describes

`--cluster NAME` is a file `NAME.toml` shipped with the launcher, in `/etc/launch/clusters/` or in
`$XDG_CONFIG_HOME/launch/clusters/`; with a `/` or ending in `.toml` it is a file. Exit code 2.""",
    "similar-cluster": """An `[on.CLUSTER]` table for a cluster that is not there

`[on.NAME]` holds changes for one cluster. A name that no cluster has may be meant for somebody else's;
one that is nearly the name of a cluster here is probably misspelt, and what it says is not applied.""",
    "nothing-to-unset": """`--unset` of a key that is not set

The key must be set by the recipe, one that it extends, `[on.CLUSTER]`, the variant or an earlier
`--set`. What a role manifest or the cluster sets cannot be taken out of the recipe; set it to something
else instead.""",
    "role-not-started": """A recipe changes a role that its deployment does not have

A router may bring roles along for some deployments only: llm-d has a sidecar in front of each decode worker, and none
where whole requests are served. What such a table says would be lost without a word.""",
    "configuration-unreadable": """A file with a configuration cannot be read

`epp_config` may be a table, or the name of a YAML file, relative to the file that names it.""",
    "missing-manifest": """A role without a role manifest

Every role runs one program, which its role manifest describes: `manifest` in `[roles.NAME]`, or in
`[defaults]` for all worker roles. The router's is `kind` in `[router]`.""",
    "unknown-manifest": """A role manifest that does not exist

Role manifests are files `manifests/NAME.toml`: shipped with the launcher, in `/etc/launch/manifests/`,
in `$XDG_CONFIG_HOME/launch/manifests/`, or in `manifests/` beside the recipe; the later wins.""",
    "unknown-router": """A router that does not exist

`[router] kind` is the name of a role manifest of kind `router`. Found only once the engines are
loaded, a misspelt router costs a start of everything.""",
    "manifest-kind": """A role manifest in a place of another kind

`[router] kind` takes role manifests of kind `router`; the roles `worker`, `prefill` and `decode` take
engines; other roles take services, and are no workers whatever they run.""",
    "name-mismatch": """A file whose `name` is not its file name

Role manifests and clusters are found by the name of their file. If `name` inside says something else,
the file is a copy that was not finished, or a rename that was not.""",
    "unknown-image": """An image alias the cluster does not have

`image` is an alias; the cluster's `[images]` says which reference or file it means there. A recipe is
then the same on every cluster.""",
    "image-architecture": """An image alias has nothing for the architecture of the nodes

An alias may have references of its own for `x86_64` and `aarch64`, and a `reference` for nodes that have none.
`arch` of the cluster file says what its compute nodes are. Exit code 4.

    vllm = { x86_64 = "/images/vllm-amd64.sqsh", aarch64 = "/images/vllm-arm64.sqsh" }""",
    "lock-stale": """An image alias means something else than when it was locked

`launch.lock` has what each alias meant, so that a recipe gets the same images again. The alias was given another
reference since. Exit code 4.""",
    "bake-stale": """A role's preamble is not the one that its image was baked with

`launch images bake` put a preamble into the image; roles that have just this preamble run without it. This role's is
another by now (its text, the cluster's, or a variable that it names), so it runs at the start of each run as if
nothing had been baked, in the image that the baked one was made from. `launch images bake` bakes what there is now.
This is a warning.""",
    "image-not-built": """An image alias is a definition that has not been built

An alias may name a definition, `images/NAME/`, in the place of a reference. `launch images build` builds it and writes
into `launch.lock` what came of it, which runs then use. Exit code 4.

    smg = { build = "smg", args = { SMG_VERSION = "1.13.0" } }""",
    "misnamed-definition": """A definition of an image that is called as no image can be

`images/NAME/` is built as an image called NAME, which registries and Docker take in lower-case letters and digits
alone, with `.`, `_` or `-` between them. `launch images matrix` refuses one that is called otherwise, since jobs of CI
would leave it out.""",
    "image-stale": """A definition has changed since its image was built

Its files, its arguments, or those of the alias are others than those that the image in `launch.lock` was built from,
which is used all the same. This is a warning.""",
    "unknown-definition": """A definition of an image that does not exist

Definitions are folders `images/NAME/` with an `image.toml`: shipped with the launcher, in `/etc/launch/images/`, in
`$XDG_CONFIG_HOME/launch/images/`, or in `images/` beside the recipe or above it; the later wins.""",
    "unknown-argument": """A build argument that the definition does not have

`[args]` of its `image.toml` has them all, with their defaults; `BASE`, the image it begins with, is one of every
definition. `${NAME}` in a reference or a version stands for one of them.""",
    "missing-image": """A role without an image on a cluster with containers

Neither the role nor its role manifest names an image alias, and the cluster starts everything in
containers.""",
    "unknown-model": """A model alias the cluster does not have

`[model] path` is an alias of the cluster's `[models]`, or an absolute path.""",
    "setup-unreadable": """A `setup_file` that cannot be read

The file is named relative to the file that names it, must be UTF-8 and at most 1 MiB. It is read now, so
that a missing preamble is found before the nodes are given.""",
    "unknown-port": """A port the role manifest does not have

`[metrics] port` names one of the manifest's own `[ports]`.""",
    "not-set": """A key that nobody set

`launch plan --explain KEY` shows every place that set a key of the job: recipe files, `[on.CLUSTER]`,
the variant, `--set`; for a key of a role the cluster, its role manifest and `[defaults]` too. A key that
is in none of them has its built-in default, which `launch schema recipe` tells. Exit code 2.""",
    "file-absent": """A file or a shipped recipe that does not exist

A recipe with a `/` in it or ending in `.toml` is a file, `-` is standard input, and any other word
names a recipe shipped with the launcher. Exit code 2; 3 where another file names it (`extends`).""",
    "file-unreadable": """A file that cannot be read

A directory, pipe, socket or device is no file, and a file may forbid reading. Exit code 2.""",
    "not-utf-8": """A file that is not UTF-8

Recipes, role manifests and cluster files are TOML, and TOML is UTF-8.""",
    "catalogue-broken": """A flag catalogue that cannot be read

`manifests/flags/PROGRAM/VERSION.json` says which flags a version of a program takes. One of your own
must have the form of those that are shipped.""",
}
"""Code → page; the first line is its summary."""
