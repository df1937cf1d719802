"""What Headrace does in a second, one module a subject; `python -m bench` runs them all."""
