"""Each experiment of the publications as a campaign of its own, and the page that says what holds."""
