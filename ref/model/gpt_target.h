/* One source, several instruction sets: a loop body compiled for wider vectors, chosen at run time.
 *
 * The operations and their order are those of the source in every version, and none contracts
 * a·b + c (-ffp-contract=off), so the choice never changes a bit. Not GCC's target_clones: that
 * needs ifunc, which sanitizers and static linking do not always like. */
#ifndef ZP_MODEL_GPT_TARGET_H
#define ZP_MODEL_GPT_TARGET_H

#include <stdint.h>

#if defined(__clang__) /* whose default contracts; gcc has no such pragma and obeys -std=c11 */
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__GNUC__)
#define ZP_GPT_INLINE inline __attribute__((always_inline))
#else
#define ZP_GPT_INLINE inline
#endif

/* -DZP_GPT_PLAIN leaves the wider versions out, to compare bits or speed. */
#if defined(__GNUC__) && defined(__x86_64__) && !defined(ZP_GPT_PLAIN)
#define ZP_GPT_X86 1
#define ZP_GPT_AVX2 __attribute__((target("avx2")))
#define ZP_GPT_AVX512 __attribute__((target("avx512f")))
#else
#define ZP_GPT_X86 0
#endif

/* Floats per vector of the widest instruction set that this CPU has: 16, 8 or 4. */
static inline int32_t zp_gpt_cpu_width(void)
{
#if ZP_GPT_X86
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx2")) return 8;
#endif
  return 4;
}

/* Defines void NAME PARAMETERS, which runs BODY ARGUMENTS compiled for this CPU. LINKAGE: empty for
 * an external function or static. */
#if ZP_GPT_X86
#define ZP_GPT_DISPATCH(LINKAGE, NAME, BODY, PARAMETERS, ARGUMENTS)                                \
  ZP_GPT_AVX512 static void NAME##_16 PARAMETERS                                                   \
  {                                                                                                \
    BODY ARGUMENTS;                                                                                \
  }                                                                                                \
  ZP_GPT_AVX2 static void NAME##_8 PARAMETERS                                                      \
  {                                                                                                \
    BODY ARGUMENTS;                                                                                \
  }                                                                                                \
  LINKAGE void NAME PARAMETERS                                                                     \
  {                                                                                                \
    int32_t width = zp_gpt_cpu_width();                                                            \
    if (width == 16) NAME##_16 ARGUMENTS;                                                          \
    else if (width == 8) NAME##_8 ARGUMENTS;                                                       \
    else BODY ARGUMENTS;                                                                           \
  }
#else
#define ZP_GPT_DISPATCH(LINKAGE, NAME, BODY, PARAMETERS, ARGUMENTS)                                \
  LINKAGE void NAME PARAMETERS                                                                     \
  {                                                                                                \
    BODY ARGUMENTS;                                                                                \
  }
#endif

#endif
