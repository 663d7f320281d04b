"""Sweeps: a whole figure's worth of recurrent arithmetic circuits, many restarts at once, resumable."""
