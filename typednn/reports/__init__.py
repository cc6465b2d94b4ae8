"""Reports: a run's pictures, and its page."""
