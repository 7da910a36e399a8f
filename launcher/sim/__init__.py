"""A simulated inference engine for rehearsals and tests: the wire of vLLM or SGLang, no model, no GPU."""
