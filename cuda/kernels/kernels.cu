/* The kernels for nvcc. */
#include "kernels_list.h"
