"""Image references: the spellings people use, and what each runtime wants to be given."""
