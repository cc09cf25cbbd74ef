"""What a person sees: progress, pictures, the demonstration."""
