"""What is drawn, measured and written of matrix product states."""
