"""The options that several commands share, the types of their values, and the arms that they name."""
