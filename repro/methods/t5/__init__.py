"""Methods that train inside T5, which writes the answer of a task as text."""
