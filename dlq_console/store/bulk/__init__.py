"""Bulk runs: one act upon many dead events, as a sliding window over a frozen selection.

`runs` holds what was asked for and how far it has come, `selections` which events that concerns, `freezing` writes them
down, `releasing` lets them go, `settling` finds out how they ended, `previews` tells before all that what would happen.
Every transaction that moves a run first changes its row (`runs.hold`), so two processes that move the same one do so one
after the other, each from what the other has left, and a person who pauses it waits for one chunk at most.
"""
