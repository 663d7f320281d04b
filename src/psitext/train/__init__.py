"""Training: optimisers and schedules, checkpoints, one loop for pre-training and fine-tuning of every family."""
