/* The kernels for devices. */
#include "kernels_list.h"
