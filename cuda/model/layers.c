/* The model's kernels for the C compiler: what simdev runs. */
#include "layers_list.h"
