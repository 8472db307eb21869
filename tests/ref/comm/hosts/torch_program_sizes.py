"""The sizes of torch_program.py, for its test, which runs without PyTorch."""

STEPS, WIDTH = 6, 128
GRADIENT_BYTES = 4 * (WIDTH * WIDTH + WIDTH)
