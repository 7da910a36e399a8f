"""Images as things: aliases in files, registries, image files, the store."""
