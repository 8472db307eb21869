/* Making items, and counting what holds them. */
#include "state.h"

sd_item *sd_item_make(sd_stream *st, simdev_item_kind kind, const char *name, int32_t call,
                      const void *pc)
{
  simdev *s = sd_now;
  sd_item *item = sd_buffer_zeroed(&s->arena, sizeof *item);
  if (!item) return NULL;
  item->holds = 1;
  item->kind = kind;
  item->stream = st;
  item->name = name;
  item->call = call;
  if (sd_now->hosts.running) item->tag = sd_now->hosts.running->tag;
  item->pc = pc;
  return item;
}

sd_item *sd_item_hold(sd_item *item)
{
  item->holds++;
  return item;
}

void sd_item_drop(simdev *s, sd_item *item)
{
  if (item && --item->holds == 0) sd_forget(s, item, sizeof *item);
}

void sd_item_refer(simdev *s, sd_item **at, sd_item *item)
{
  sd_item_hold(item);
  sd_item_drop(s, *at);
  *at = item;
}
