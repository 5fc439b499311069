"""The compiled core: the one place that speaks to it. Nothing outside sees a pointer."""
