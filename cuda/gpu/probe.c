/* For the C compiler: what simdev runs. */
#include "probe_body.h"
