"""What a model does with its words. Pure functions over arrays; nothing here knows a model."""
