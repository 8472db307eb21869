/* The model's kernels for the C compiler, for simdev. */
#include "layers_list.h"
