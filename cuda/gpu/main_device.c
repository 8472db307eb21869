/* A program of gpu-check on a device. */
#include "main.h"

int main(int argc, char **argv)
{
  return zp_gpu_main(argc, argv);
}
