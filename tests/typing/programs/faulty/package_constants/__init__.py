"""A package whose sizes are in one module; the number of pixels is counted after two pools, and there is one."""
