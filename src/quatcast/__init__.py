"""quatcast."""
