"""A small fourth world: boats fish a stock that regrows, and a regulator sets the quota when they ask.

It lives outside `engine`, and nothing in hobbes knows it.
"""
