"""The pages of `hobbes view` and `hobbes export --format html`. They are read only."""
