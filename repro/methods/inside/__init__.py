"""Methods that train inside the encoder: adapters, layer norms, top layers, all of it."""
