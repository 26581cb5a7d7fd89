"""Submissions to the GLUE test server, and the scores that it gives back."""
