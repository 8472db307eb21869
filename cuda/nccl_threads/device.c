/* The kernel for the C compiler, run by simdev. */
#include "kernel_body.h"
