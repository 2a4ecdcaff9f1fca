"""What the last day brought, in short: written by a language model, or made on this machine."""
