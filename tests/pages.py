"""Where the pages of a test are."""

LOCAL = "http://127.0.0.1"
