/* The model's kernels for nvcc. */
#include "layers_list.h"
