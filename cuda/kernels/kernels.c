/* The kernels for the C compiler: what simdev runs. */
#include "kernels_list.h"
