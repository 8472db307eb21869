#include "base.h"

_Thread_local simdev *sd_now;
