"""Words on the command line → calls below; prints."""
