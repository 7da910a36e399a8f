"""A simulated inference engine for rehearsals and tests: the wire of vLLM or SGLang, no model, no GPU."""

VERSION = "0.1.0"
"""Version of the simulated engine; its flag catalogue is named after it."""
