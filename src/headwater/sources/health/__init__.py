"""How sources do: counted, ranked and told in words, for those who look after them."""
