"""What can be done with sentences as points: paths, arithmetic, neighbours, a prior. Tensors in, tensors out."""
