#include "logic.h"
