"""Plans that promise an error: for one theta (`planner`), and for the best theta of a set (`optimistic_planner`)."""
