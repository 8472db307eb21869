/* For nvcc. */
#include "product_orders_list.h"
