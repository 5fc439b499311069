"""The controller as a service: decisions over HTTP from an agent that survives restarts, retries and power cuts.

Everything that happens is an event in one append-only table (events, event_log). A loop is the fold of its events
(ledger), and so is its agent (learner): observations in their order, and a solve wherever the log says that one
began. A decision plays the policy in force, and the log says when each policy came into force. So whatever the
service does next is a function of the log alone, and a snapshot (snapshots) only makes starting faster.

One thread, the event loop's, owns all state and gives every event its number (controller, service). A second thread
commits what has gathered since its last commit, so that many requests share one write to disk (event_log). Agents
learn in a pool (solves).
"""
