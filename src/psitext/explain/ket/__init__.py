"""Sentence kets looked at: entanglement, bonds and fidelities of sentences, and what random kets have."""
