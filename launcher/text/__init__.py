"""What the user wrote, and how to talk about it: documents with positions, diagnostics, reports."""
