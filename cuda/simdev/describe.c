/* Hosts, streams and items in words. */
#include "state.h"

const char *sd_call_text(const sd_host *h)
{
  simdev *s = sd_now;
  sd_print(s->found.call_text, sizeof s->found.call_text, "rank %d, call %d (%s)", h->agent.rank,
           h->call, h->call_name);
  return s->found.call_text;
}

const char *sd_stream_name(const sd_stream *st, char *text, size_t cap)
{
  if (st->name[0]) sd_print(text, cap, "stream '%s'", st->name);
  else if (st->is_legacy) sd_print(text, cap, "the legacy default stream");
  else if (st->default_of) sd_print(text, cap, "a per-thread default stream");
  else sd_print(text, cap, "stream %d", st->id);
  return text;
}

void sd_item_text(const sd_item *item, char *text, size_t cap)
{
  char stream[64], what[128];
  if (item->kind == SIMDEV_COMM) sd_now->nccl->item_text(item, what, sizeof what);
  else
    sd_print(what, sizeof what, "%s%s", item->kind == SIMDEV_KERNEL ? "kernel " : "", item->name);
  sd_print(text, cap, "rank %d, %s, %s (call %d)", item->stream->agent.rank,
           sd_stream_name(item->stream, stream, sizeof stream), what, item->call);
}
