"""What to change and what would follow: faults, delays, layouts, placement."""
