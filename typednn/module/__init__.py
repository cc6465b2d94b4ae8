"""What a model's objects hold and do: fields, gradients, and what surrounds forward, backward and update."""
