"""Steps of a window: cut from the log, rendered as blocks, and shortened. Values in, values out."""
