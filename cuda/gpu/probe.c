/* For the C compiler, for simdev. */
#include "probe_body.h"
