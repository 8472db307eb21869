/* For nvcc. */
#include "probe_body.h"
