"""The paper: what it shows and what its reviewers asked, as experiments (suite) and as sections of their
report (sections)."""
