"""Matrix product states of recurrent arithmetic circuits: spectra, entropies, compression, other libraries' formats."""
