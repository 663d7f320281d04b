"""Fewer numbers for the same function: chains of smaller bond, and what that costs."""
