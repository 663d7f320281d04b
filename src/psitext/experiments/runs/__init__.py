"""What a run is: its recipe, its folder, its text, its training."""
