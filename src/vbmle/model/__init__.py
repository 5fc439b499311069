"""What is known (`mdp`) with its feasible set, and the hidden truth (`world`): data and validation."""
