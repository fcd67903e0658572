"""The pages of `hobbes view` and `hobbes export --format page`. They are read only."""
