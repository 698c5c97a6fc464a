"""Online learners."""
