/* Transports that the engine refuses. */
#ifndef ZP_TESTS_TRANSPORTS_H
#define ZP_TESTS_TRANSPORTS_H
#include <stdlib.h>

#include "../../../ref/comm/transport.h"

static int uncalled(void *ctx, const void *send, void *recv, int64_t bytes)
{
  (void)ctx, (void)send, (void)recv, (void)bytes;
  abort();
}

static int uncalled_broadcast(void *ctx, void *data, int64_t bytes, int32_t root)
{
  (void)ctx, (void)data, (void)bytes, (void)root;
  abort();
}

static const zp_transport empty_transport = {.size = sizeof(zp_transport)};
static const zp_transport uncalled_transport = {.size = sizeof(zp_transport),
                                                .all_gather = uncalled,
                                                .all_to_all = uncalled,
                                                .broadcast = uncalled_broadcast};

#endif
