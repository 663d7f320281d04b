"""Encoders: a batch of tokens in, a state out; one family a file."""
