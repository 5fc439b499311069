"""Pages and pictures beside the report: the comparison, the study, and pictures of worlds."""
