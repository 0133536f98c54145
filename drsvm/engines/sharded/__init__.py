"""Rows in several parts, wherever these are.

A `part` has its rows and their state, and replies to messages with values that can be added; `rows` and `engine` send
`queries` to all parts through a `coordinator`, which has the log of every run, so that a lost part can repeat it, and
can talk to single groups of parts.
`quantiles` finds quantiles by histograms, `vectors` stay in the parts, `chunks` checks data part by part.
"""
