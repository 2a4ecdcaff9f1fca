"""Training of the model of topics: from the material that ships and from people's labels."""
