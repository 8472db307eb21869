/* For the C compiler. */
#include "product_orders_list.h"
