# Offload's memory: large pages that CUDA registers, or CUDA's memory. spec: OPT-5
# inputs: build/tests/drivers/cuda/offload_pages
build=${ZP_BUILD:-build}
exec "$build/tests/drivers/cuda/offload_pages"
