"""Tables as they are written: cells between separators, and columns that are there or not."""
