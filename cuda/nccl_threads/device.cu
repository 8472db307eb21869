/* The kernel for nvcc. */
#include "kernel_body.h"
