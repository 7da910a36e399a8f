"""A simulated inference engine for rehearsals and tests: the wire of vLLM or SGLang, no model, no GPU."""

NAME = "sim"
"""The program, the default model, and the key of answers under which it speaks of itself."""

VERSION = "0.1.0"
"""Version of the simulated engine; its flag catalogue is named after it."""
