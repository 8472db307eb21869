/* The kernels for simdev. */
#include "kernels_list.h"
