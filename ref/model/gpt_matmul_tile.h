/* Text of the product's kernel for one vector width; gpt_matmul.c includes it once per width after
 * defining, and this file undefines:
 *   TILE_WIDTH   floats per vector, 4, 8 or 16
 *   TILE_NAME(x) x with the width's suffix
 *   TILE_TARGET  attribute naming the instruction set, or empty
 *   TILE_ROWS, TILE_VECTORS  block of C kept in registers: rows × vectors of columns */

typedef float TILE_NAME(vector) __attribute__((vector_size(TILE_WIDTH * 4)));

/* C block (rows, vectors·TILE_WIDTH) at (m, n); rows and vectors are constants at each call, so
 * that acc lives in registers. */
TILE_TARGET static ZP_GPT_INLINE void TILE_NAME(block)(const zp_gpt_product *p, int64_t m,
                                                       int64_t n, const int rows, const int vectors)
{
  TILE_NAME(vector) acc[TILE_ROWS][TILE_VECTORS];
  for (int i = 0; i < rows; i++)
    for (int v = 0; v < vectors; v++)
      memcpy(&acc[i][v], p->c + (m + i) * p->ldc + n + v * TILE_WIDTH, sizeof acc[i][v]);
  const float *a = p->a + m * p->am;
  const float *b = p->b + n;
  for (int64_t k = 0; k < p->K; k++, a += p->ak, b += p->ldb) {
    for (int v = 0; v < vectors; v++) {
      TILE_NAME(vector) column;
      memcpy(&column, b + v * TILE_WIDTH, sizeof column);
      for (int i = 0; i < rows; i++) acc[i][v] += a[i * p->am] * column;
    }
  }
  for (int i = 0; i < rows; i++)
    for (int v = 0; v < vectors; v++)
      memcpy(p->c + (m + i) * p->ldc + n + v * TILE_WIDTH, &acc[i][v], sizeof acc[i][v]);
}

/* Columns [0, *done) of C, *done = N rounded down to whole vectors. */
TILE_TARGET static void TILE_NAME(columns)(const zp_gpt_product *p, int64_t *done)
{
  int64_t n = 0;
  for (; n + TILE_VECTORS * TILE_WIDTH <= p->N; n += TILE_VECTORS * TILE_WIDTH) {
    int64_t m = 0;
    for (; m + TILE_ROWS <= p->M; m += TILE_ROWS)
      TILE_NAME(block)(p, m, n, TILE_ROWS, TILE_VECTORS);
    for (; m < p->M; m++) TILE_NAME(block)(p, m, n, 1, TILE_VECTORS);
  }
  for (; n + TILE_WIDTH <= p->N; n += TILE_WIDTH) {
    int64_t m = 0;
    for (; m + TILE_ROWS <= p->M; m += TILE_ROWS) TILE_NAME(block)(p, m, n, TILE_ROWS, 1);
    for (; m < p->M; m++) TILE_NAME(block)(p, m, n, 1, 1);
  }
  *done = n;
}

#undef TILE_WIDTH
#undef TILE_NAME
#undef TILE_TARGET
#undef TILE_ROWS
#undef TILE_VECTORS
