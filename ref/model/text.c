#include "text.h"

#include "zmath.h"

double zp_text_unigram_entropy(const uint8_t *bytes, int64_t n)
{
  int64_t count[256] = {0};
  for (int64_t i = 0; i < n; i++) count[bytes[i]]++;
  double entropy = 0.0;
  for (int v = 0; v < 256; v++) {
    if (count[v] == 0) continue;
    double p = (double)count[v] / (double)n;
    entropy -= p * zp_log(p);
  }
  return entropy;
}
