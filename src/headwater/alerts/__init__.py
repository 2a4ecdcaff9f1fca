"""What an operator is told without looking: conditions that hold, as incidents with a beginning and an end."""
