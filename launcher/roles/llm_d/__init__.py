"""llm-d: Envoy asks the EPP for each request where it goes; a sidecar before each decode worker fetches its prefill.

Facts are those of llm-d-router 0.10.0 (its source) unless said otherwise, and of Envoy 1.40 (seen).
"""
