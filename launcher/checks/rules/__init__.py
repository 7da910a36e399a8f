"""What holds between the flags of an engine: small checks, each of one fact and citing where it stands.

Program and version are those of the role; a rule speaks only where the version has the flags it speaks of.
"""

from launcher.checks.rules import halves, sglang, trtllm, vllm, vllm_parallel, vllm_ranges

RULES = (*vllm_parallel.RULES, *vllm.RULES, *vllm_ranges.RULES, *sglang.RULES, *trtllm.RULES, *halves.RULES)
"""Every rule, in the order it is looked at."""
