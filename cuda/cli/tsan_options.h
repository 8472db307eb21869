/* Included by main functions of programs that run under ThreadSanitizer: simdev's options (race.c),
 * with exit code 0, as the command has its own exit codes for a race. */
#ifndef ZP_CUDA_CLI_TSAN_OPTIONS_H
#define ZP_CUDA_CLI_TSAN_OPTIONS_H

#if defined(__SANITIZE_THREAD__)
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:history_size=5:atexit_sleep_ms=0:"
         "exitcode=0";
}
#endif

#endif
