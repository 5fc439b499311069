"""From transition counts to theta: likelihood, the value-biased maximiser, certificates and confidence."""
