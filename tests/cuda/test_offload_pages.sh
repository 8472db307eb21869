# Offload's memory: large pages of our own that CUDA registers, or CUDA's. spec: OPT-5
build=${ZP_BUILD:-build}
exec "$build/tests/cuda/offload_pages"
