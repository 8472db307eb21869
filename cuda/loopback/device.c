/* The kernel for the C compiler: what simdev runs. */
#include "kernel_body.h"
