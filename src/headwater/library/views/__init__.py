"""Views: saved queries of a user, in the side bar and as feeds."""
