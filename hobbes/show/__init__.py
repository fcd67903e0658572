"""Showing: everything people look at, from tables in the terminal to web pages, charts and exports."""
