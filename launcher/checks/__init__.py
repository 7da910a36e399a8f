"""Rules over job and plan. A check is a generator; its docstring is what `launch explain CODE` prints."""
