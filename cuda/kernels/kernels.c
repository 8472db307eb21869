/* The kernels compiled by the C compiler, for simdev. */
#include "kernels_list.h"
