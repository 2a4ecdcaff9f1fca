"""The rules of operators: creating, changing, testing and enabling them."""
