"""What ends the EPP at its start, by its stand-in, `launch check` refuses before: both are given the same.

Each is what llm-d-router 0.10.0 refuses in `pkg/epp/config/loader` (`configloader.go`, `validation.go`), in the
factories of plugins, or in `interface/plugin/registry.go`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from launcher.checks import check
from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.link import Request, link
from launcher.text.diagnostic import errors
from tests.llm_d.reading import configuration
from tests.llm_d.words import Wrong

QUEUE = {"type": "queue-scorer"}
ONE = {"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}
TOKENS = {"type": "token-producer"}
PRECISE = {"type": "precise-prefix-cache-producer"}
DISAGG = {"type": "disagg-profile-handler"}
SOURCE = "metrics-data-source"
DISCOVERY = {"type": "file-discovery", "name": "files", "parameters": {"path": "/endpoints.json"}}


def plugins(*more: Any, **keys: Any) -> dict[str, Any]:
    """A configuration that is good but for what is added."""
    return {"plugins": [QUEUE, *more], "schedulingProfiles": [ONE], **keys}


def profiles(*each: Any) -> dict[str, Any]:
    return {"plugins": [QUEUE], "schedulingProfiles": list(each)}


def parameters(kind: str, **given: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": given}


BAD = {
    "no type": (plugins({"name": "a"}), "missing a type", "epp-plugin"),
    "no such plugin": (plugins({"type": "queu-scorer"}), "not registered", "epp-plugin"),
    "a name twice": (plugins(QUEUE), "duplicate plugin name", "epp-plugin"),
    "no such parameter": (plugins(parameters("no-hit-lru-scorer", lruSiez=1)), "unknown field", "epp-key"),
    "a parameter of another type": (plugins(parameters("no-hit-lru-scorer", lruSize="many")), "unmarshal", "epp-key"),
    "a truth for a number": (plugins(parameters("load-aware-scorer", threshold=True)), "unmarshal", "epp-key"),
    "no such key": (plugins(profiles=[]), "unknown field 'profiles'", "epp-key"),
    "an experiment": (plugins({"type": "topology-extractor"}), "Alpha stability", "epp-experimental"),
    "no such gate": (plugins(featureGates=["flowContorl"]), "is unknown", "epp-key"),
    "a gate half open": (plugins(featureGates=["flowControl=half"]), "not a valid value", "epp-key"),
    "a later API": (plugins(apiVersion="llm-d.ai/v1"), "no kind", "epp-key"),
    "another kind": (plugins(kind="Config"), "no kind", "epp-key"),
    "no profile": (profiles(), "no profile handler", "epp-profiles"),
    "a profile without a name": (profiles({"plugins": ONE["plugins"]}), "missing a name", "epp-profiles"),
    "two profiles of a name": (
        {**profiles(ONE, ONE), "plugins": [QUEUE, {"type": "data-parallel-profile-handler"}]},
        "duplicate name", "epp-profiles",
    ),
    "two profiles and nobody to choose": (
        profiles(ONE, {**ONE, "name": "other"}), "no profile handler", "epp-profiles",
    ),
    "two profiles and who knows one": (
        {**profiles(ONE, {**ONE, "name": "other"}), "plugins": [QUEUE, {"type": "single-profile-handler"}]},
        "cannot support multiple", "epp-profiles",
    ),
    "two handlers": (plugins({"type": "single-profile-handler"}, DISAGG), "only one", "epp-profiles"),
    "a reference to nothing": (profiles({**ONE, "plugins": [{"pluginRef": "q"}]}), "undefined plugin", "epp-plugin"),
    "an empty reference": (profiles({**ONE, "plugins": [{"weight": 1}]}), "missing a 'pluginRef'", "epp-plugin"),
    "a decider that is not there": (
        plugins({**DISAGG, "parameters": {"deciders": {"prefill": "x"}}}), "unregistered plugin x", "epp-plugin",
    ),
    "a parser that is not there": (
        plugins(requestHandler={"parsers": [{"pluginRef": "openai-parser"}]}), "parser references", "epp-plugin",
    ),
    "a detector that is not there": (
        plugins(flowControl={"saturationDetector": {"pluginRef": "mine"}}), "saturation detector", "epp-plugin",
    ),
    "a source that is not there": (
        plugins(dataLayer={"sources": [{"pluginRef": "mine", "extractors": []}]}), "DataSource", "epp-plugin",
    ),
    "an extractor that is not there": (
        plugins(dataLayer={"sources": [{"pluginRef": SOURCE, "extractors": [{"pluginRef": "mine"}]}]}),
        "is not registered", "epp-plugin",
    ),
    "two ways to make tokens": (
        plugins(parameters("token-producer", estimate={}, vllm={}, modelName="m"), PRECISE),
        "only one of", "events-owned",
    ),
    "tokens of its own": (
        plugins(parameters(PRECISE["type"], indexerConfig={"tokenizersPoolConfig": {}}), TOKENS),
        "tokenizersPoolConfig", "events-owned",
    ),
}  # fmt: skip


def codes(folder: Path, config: dict[str, Any]) -> set[str]:
    """Codes of the errors that `launch check` finds in a recipe with this configuration."""
    (folder / "epp.yaml").write_text(json.dumps(config), encoding="utf-8")
    (folder / "own.toml").write_text(
        'schema = 1\nname = "own"\nextends = "sim-llm-d"\n[router]\nepp_config = "epp.yaml"\n', encoding="utf-8"
    )
    job = link(Files({}, site=folder, directory=folder), Request("./own.toml"))
    return {each.code for each in errors(check(job, load({role.manifest.adapter for role in job.roles})))}


def read(config: dict[str, Any]) -> None:
    """As the stand-in reads what the launcher makes of it. Raises Wrong."""
    layer = {**config.get("dataLayer", {}), "discovery": {"pluginRef": "files"}}
    whole = {**config, "plugins": [*config["plugins"], DISCOVERY], "dataLayer": layer}
    api = {"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig"}
    configuration(json.dumps({**api, **whole}), experimental=False)


@pytest.mark.parametrize("case", BAD)
def test_both_refuse_it(tmp_path: Path, case: str) -> None:
    config, said, code = BAD[case]
    with pytest.raises(Wrong, match=said):
        read(config)
    assert code in codes(tmp_path, config)


GOOD = {
    "one scorer": plugins(),
    "two profiles and who chooses": {
        **profiles(ONE, {**ONE, "name": "other"}), "plugins": [QUEUE, {"type": "data-parallel-profile-handler"}],
    },
    "what the EPP adds itself": plugins(
        dataLayer={"sources": [{"pluginRef": SOURCE, "extractors": [{"pluginRef": "core-metrics-extractor"}]}]},
        flowControl={"saturationDetector": {"pluginRef": "utilization-detector"}},
        featureGates=["flowControl", "haPopulateNonLeaderDatastore=false"],
    ),
    "parameters": plugins(
        parameters("no-hit-lru-scorer", lruSize=10), parameters("load-aware-scorer", threshold=3),
        parameters("metrics-data-source", scheme="http", insecureSkipVerify=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_both_take_it(tmp_path: Path, case: str) -> None:
    read(GOOD[case])
    assert codes(tmp_path, GOOD[case]) == set()
