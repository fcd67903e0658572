"""What is proved: replay, verification, and the comparison of two runs."""
