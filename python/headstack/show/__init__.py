"""Tables, figures, reports and the drive view."""
