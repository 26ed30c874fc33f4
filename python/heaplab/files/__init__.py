"""Files that users name: read if regular and of a bounded size, replaced when complete."""
