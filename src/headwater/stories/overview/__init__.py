"""What operators see of stories: the largest of a day, and the articles of one."""
